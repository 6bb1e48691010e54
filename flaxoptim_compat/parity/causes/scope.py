"""Which parameters a mistake is looked for in: of a large model, a few small ones are enough."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from flaxoptim_compat import optim
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.parity.causes.legacy_side import Legacy

# From here on the arithmetic takes longer than to compile it.
LARGE = 2**17


@dataclasses.dataclass(frozen=True)
class Scope:
    """Some of the parameters.

    Args:
      indices: of the leaves; None for all of them.
    """

    indices: tuple[int, ...] | None = None

    def pick(self, tree: Any) -> Any:
        """The part of a tree of parameters, or of their gradients."""
        if self.indices is None:
            return tree
        leaves = jax.tree.leaves(tree)
        return [leaves[index] for index in self.indices]

    def of(self, legacy: Legacy) -> Legacy:
        """The legacy side with this part of the parameters only."""
        optimizer = legacy.optimizer
        if self.indices is None or optimizer is None:
            return legacy
        states = leaves_like(optimizer.target, optimizer.state.param_states, "param_states")
        mine = [states[index] for index in self.indices]
        state = optimizer.state.replace(param_states=mine)
        return Legacy(
            legacy.definition,
            optim.Optimizer(legacy.definition, state, self.pick(optimizer.target)),
        )


def size_of(params: Any) -> int:
    """How many numbers there are in a tree."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(params))


def scopes(legacy: Legacy, params: Any) -> list[Scope]:
    """Where to look, one after the other while nothing is to be seen.

    Every optimizer of flax.optim moves each parameter by itself, so that a mistake shows in a small
    one as well. Not so in a MultiOptimizer, or if the mistake is about the large ones only.
    """
    sizes = [np.size(leaf) for leaf in jax.tree.leaves(params)]
    if sum(sizes) <= LARGE or isinstance(legacy.definition, optim.MultiOptimizer):
        return [Scope()]
    ascending = sorted(range(len(sizes)), key=sizes.__getitem__)
    until = int(np.searchsorted(np.cumsum([sizes[index] for index in ascending]), LARGE, "right"))
    small = tuple(sorted(ascending[:until]))
    return [Scope(small), Scope()] if small else [Scope()]

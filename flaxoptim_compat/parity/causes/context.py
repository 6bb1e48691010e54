"""The comparison that a search explains, and the side of it whose settings are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from flaxoptim_compat import optim
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.parity.counterparts import (
    counterpart,
    is_definition,
    is_optimizer,
)
from flaxoptim_compat.parity.gradients import Gradients
from flaxoptim_compat.parity.overrides import Overrides
from flaxoptim_compat.parity.partings import parting_parameters
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.parity.tolerance import Tolerance

# From so many elements on, arithmetic takes longer than compilation.
LARGE = 2**17
# So many steps must fit, or twice as many as it took to part.
_LEAST_STEPS = 20
# The part of the distance that Tolerance() allows in float32.
_USUAL = 5e-6


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """A comparison of two sides that parted.

    Args:
      params: the parameters that sides start from, unless they bring their own.
      grads: the gradients.
      overrides: the hyper-parameters that are set at each step.
      functions: those overrides that are functions of the step, by name.
      steps: how many steps were done.
      parted: the step after which the sides had parted.
      leaves: the numbers of the parameters that part.
      tolerance: the tolerance within which two runs are the same.
      runs: compares two other sides in the same way, for so many steps, without a search for a
        cause.
    """

    params: Any
    grads: Gradients
    overrides: Overrides
    functions: Mapping[str, Callable[[int], Any]]
    steps: int
    parted: int
    leaves: Sequence[int]
    tolerance: Tolerance
    runs: Callable[[Any, Any, int], Report]

    @property
    def window(self) -> int:
        """The number of steps for which a variant has to fit."""
        known = self.steps
        # With its own schedule a side may need the rate of one step more than there are.
        if "learning_rate" in self.overrides.changing and self.parted < self.steps - 1:
            known -= 1
        return min(known, max(_LEAST_STEPS, 2 * self.parted))

    def confirms(self, first: Any, second: Any) -> bool:
        """True if the parameters of two sides never part; moments may be of another scale."""
        report = self.runs(first, second, self.window)
        return not parting_parameters(report.tracks, self.tolerance)

    def gradients(self, params: Any, step: int) -> Any:
        """The gradients of a step, at the parameters of one side."""
        inputs = self.grads.inputs_of(step, params)
        return self.grads.of_step(params, params, step, inputs)[0]

    def subset(self, legacy: Legacy) -> Subset:
        """The parameters with which to search: of a large model, small ones that part.

        Every optimizer of flax.optim moves each parameter by itself, but for a MultiOptimizer.
        """
        sizes = [np.size(leaf) for leaf in jax.tree.leaves(self.params)]
        if sum(sizes) <= LARGE or isinstance(legacy.definition, optim.MultiOptimizer):
            return Subset()
        ascending = sorted(self.leaves, key=sizes.__getitem__)
        until = np.searchsorted(np.cumsum([sizes[i] for i in ascending]), LARGE, "right")
        return Subset(tuple(sorted(ascending[: max(int(until), 1)])))


@dataclasses.dataclass(frozen=True)
class Legacy:
    """A definition of this package, and the Optimizer that goes on with it, if there is one.

    Args:
      definition: the definition.
      optimizer: the Optimizer.
      called: the name of the side in a sentence.
    """

    definition: Any
    optimizer: Any = None
    called: str = "flax.optim's definition"

    @property
    def steps(self) -> int:
        """The step of the Optimizer; a replicated one counts on each device."""
        return 0 if self.optimizer is None else int(np.reshape(self.optimizer.state.step, -1)[0])


@dataclasses.dataclass(frozen=True)
class Subset:
    """A subset of the parameters.

    Args:
      indices: the indices of the leaves; None for all of them.
    """

    indices: tuple[int, ...] | None = None

    def of(self, tree: Any) -> Any:
        """The subset of a tree of parameters, or of their gradients."""
        if self.indices is None:
            return tree
        leaves = jax.tree.leaves(tree)
        return [leaves[index] for index in self.indices]

    def of_legacy(self, legacy: Legacy) -> Legacy:
        """The legacy side with this subset of the parameters only."""
        optimizer = legacy.optimizer
        if self.indices is None or optimizer is None:
            return legacy
        states = leaves_like(optimizer.target, optimizer.state.param_states, "param_states")
        state = optimizer.state.replace(param_states=[states[index] for index in self.indices])
        smaller = optim.Optimizer(legacy.definition, state, self.of(optimizer.target))
        return dataclasses.replace(legacy, optimizer=smaller)


def legacy_side(subject: Any) -> Legacy | None:
    """A side as a definition or an Optimizer of this package; None if it is not of flax.optim.

    Args:
      subject: any side. Sides of the genuine flax.optim are recognised by their names and fields.
    """
    if is_optimizer(subject) or is_definition(subject):
        ours = counterpart(subject, optim)
    else:
        return None
    if is_optimizer(ours):
        return Legacy(ours.optimizer_def, ours)
    return None if ours is None else Legacy(ours)


def size_of(params: Any) -> int:
    """The number of elements in a tree."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(params))


def fitting(tolerance: Tolerance) -> Tolerance:
    """The tolerance for a fit: the usual one, or a stricter one of the comparison.

    A fit within a looser tolerance would explain nothing, and with an exact one nothing would fit.
    """
    stricter = tolerance.relative is not None and 0 < tolerance.relative < _USUAL
    return tolerance if stricter else Tolerance()

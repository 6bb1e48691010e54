"""Several optimizers, each for a part of the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from flaxoptim_compat.bridge import checkpoints
from flaxoptim_compat.bridge.masks import Assignment, select
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.optim.definition import OptimizerDef, refuse_as_part
from flaxoptim_compat.optim.state import OptimizerState

_FROZEN = "frozen"
_FROZEN_TEXT = f'"{_FROZEN}": transforms.hold()'


class MultiOptimizer(OptimizerDef):
    """Applies different optimizers to different parts of a target.

    In optax this is one ``optax.masked`` for each part, and the rest held as it is. A leaf that no
    traversal selects never changes, and its state is None. ``hyper_params`` is a list with one
    entry for each optimizer.

    Args:
      *traversals_and_optimizers: pairs of a ``flax.traverse_util.Traversal`` and a definition.
    """

    # create(focus=...) makes one as well, for a program that may not know the class.
    _removed: ClassVar[str] = "flax.optim.MultiOptimizer, and with it create(focus=...),"

    def __init__(self, *traversals_and_optimizers: tuple[Any, OptimizerDef]) -> None:
        if not traversals_and_optimizers:
            raise ValueError("MultiOptimizer needs at least one pair (traversal, optimizer).")
        traversals, sub_optimizers = zip(*traversals_and_optimizers, strict=True)
        for definition in sub_optimizers:
            refuse_as_part(definition, "MultiOptimizer")
        self.traversals = traversals
        self.sub_optimizers = sub_optimizers
        super().__init__([definition.hyper_params for definition in sub_optimizers])

    def init_state(self, params: Any) -> OptimizerState:
        """The state before the first step: that of each optimizer for its leaves, else None.

        Raises:
          ValueError: two traversals select the same leaf.
        """
        leaves, treedef = jax.tree.flatten(params)
        states: list[Any] = [None] * len(leaves)
        for each in self.assign(self.hyper_params, params, range(len(leaves))):
            mine = tuple(_as_array(leaves[index]) for index in each.leaves)
            for index, state in zip(
                each.leaves, each.definition.init_state(mine).param_states, strict=True
            ):
                states[index] = state
        return OptimizerState(jnp.asarray(0, dtype=jnp.int32), jax.tree.unflatten(treedef, states))

    def state_axes(self, params: Any, state: Any, param_axes: Any) -> OptimizerState:
        """What each optimizer says of its leaves; None for the leaves that none of them moves."""
        leaves, treedef = jax.tree.flatten(params)
        states = leaves_like(params, state.param_states, "param_states")
        specs = leaves_like(params, param_axes, "param_axes")
        found: list[Any] = [None] * len(leaves)
        for each in self.assign(self.hyper_params, params, range(len(leaves))):
            mine = [tuple(column[index] for index in each.leaves) for column in (leaves, states)]
            axes = tuple(specs[index] for index in each.leaves)
            inner = each.definition.state_axes(mine[0], OptimizerState(state.step, mine[1]), axes)
            for index, its in zip(each.leaves, inner.param_states, strict=True):
                found[index] = its
        return OptimizerState(PartitionSpec(), jax.tree.unflatten(treedef, found))

    def has_chain(self) -> bool:
        """True: the parts are optax chains, or are called by name."""
        return True

    def on_optax(self) -> bool:
        """Whether no subclass overrides ``apply_gradient``."""
        return type(self).apply_gradient is OptimizerDef.apply_gradient

    def has_expression(self) -> bool:
        """Whether every part has one."""
        parts = self.sub_optimizers
        return super().has_expression() and all(part.has_expression() for part in parts)

    def chain_text(self, hyper_params: Any) -> str:
        """What all parts do, as source text."""
        texts = [
            f'"{label}": {definition.chain_text(values)}'
            for label, definition, values in self._parts_by_label(hyper_params)
        ]
        return f"optax.partition({{{', '.join([*texts, _FROZEN_TEXT])}}}, labels)"

    def labels(self, params: Any) -> Any:
        """For every parameter the key, in that text, of the optimizer that moves it."""
        leaves, treedef = jax.tree.flatten(params)
        found = [_FROZEN] * len(leaves)
        assignments = self.assign(self.hyper_params, params, range(len(leaves)))
        for (label, *_), each in zip(
            self._parts_by_label(self.hyper_params), assignments, strict=True
        ):
            for index in each.leaves:
                found[index] = label
        return jax.tree.unflatten(treedef, found)

    def _parts_by_label(
        self, hyper_params: Any, within: str = ""
    ) -> Iterator[tuple[str, OptimizerDef, Any]]:
        for index, (definition, values) in enumerate(self._with_hyper_params(hyper_params)):
            label = f"{within}{index}"
            if isinstance(definition, MultiOptimizer):
                yield from definition._parts_by_label(values, f"{label}.")
            else:
                yield label, definition, values

    def compiles(self) -> bool:
        """Whether every part is an optax chain."""
        return all(
            definition.on_optax() and definition.compiles() for definition in self.sub_optimizers
        )

    def assign(self, hyper_params: Any, params: Any, eligible: Sequence[int]) -> list[Assignment]:
        """Which definition moves which leaf, through MultiOptimizers inside this one as well."""
        selected = select(self.traversals, params, eligible)
        assignments = []
        pairs = self._with_hyper_params(hyper_params)
        for (definition, values), leaves in zip(pairs, selected, strict=True):
            if isinstance(definition, MultiOptimizer) and definition.on_optax():
                assignments += definition.assign(values, params, leaves)
            else:
                assignments.append(Assignment(definition, values, leaves))
        return assignments

    def override(self, hyper_params: Any, overrides: Mapping[str, Any]) -> list[Any]:
        """The same overrides for every optimizer."""
        return [
            definition.override(values, overrides)
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def normalise(self, hyper_params: Any) -> Any:
        """The hyper-parameters of every optimizer, each as it wants them."""
        return [
            definition.normalise(values) if definition.on_optax() else values
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def _with_hyper_params(self, hyper_params: Sequence[Any]) -> list[tuple[OptimizerDef, Any]]:
        listed = isinstance(hyper_params, list | tuple)
        if not listed or len(hyper_params) != len(self.sub_optimizers):
            found = f"has {len(hyper_params)} entries" if listed else "is no list"
            raise ValueError(
                f"hyper_params {found}, the MultiOptimizer has {len(self.sub_optimizers)}"
                " optimizers: give a list with one entry for each."
            )
        return list(zip(self.sub_optimizers, hyper_params, strict=True))

    def structure(self) -> tuple[Any, ...]:
        """The traversals, and the structure of every optimizer."""
        return (
            type(self),
            self.traversals,
            tuple(definition.structure() for definition in self.sub_optimizers),
        )

    def upgrade_state_dict(self, target: Any, state_dict: Any) -> Any:
        """Bring the state dict of an older Flax to the layout of Flax 0.5.3."""
        count = len(jax.tree.leaves(target))
        assignments = self.assign(self.hyper_params, target, range(count))
        merged = checkpoints.merge_list_of_states(
            target, state_dict, [each.leaves for each in assignments]
        )
        owner = {index: each.definition for each in assignments for index in each.leaves}
        return checkpoints.upgrade(
            target,
            merged,
            lambda index, param, entry: (
                owner[index].upgrade_param_state(param, entry) if index in owner else entry
            ),
        )


def _as_array(leaf: Any) -> Any:
    # Of an array that has values it is the array itself, which asking finds out slowly.
    concrete = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return leaf if concrete else jnp.asarray(leaf)

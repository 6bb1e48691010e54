"""Different definitions for different parts of a target."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge import checkpoints
from flaxoptim_compat.bridge.definition import (
    Assignment,
    HyperParams,
    Leaf,
    OwnCode,
    ParamState,
    PyTree,
)
from flaxoptim_compat.bridge.masks import labelled, select
from flaxoptim_compat.bridge.strictness import is_strict, let_pass
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.formula_text.stages import label_of, partition
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.model_param_traversal import selects
from flaxoptim_compat.optim.state import OptimizerState


class MultiOptimizer(OptimizerDef):
    """Applies different optimizers to different parts of a target.

    In optax this is an ``optax.partition``, with the rest held as it is. A leaf that no traversal
    selects never changes, and its state is None. ``hyper_params`` is a list with one entry for each
    optimizer.

    Args:
      *traversals_and_optimizers: pairs of a ``flax.traverse_util.Traversal`` and a definition.
    """

    # Its parts have theirs.
    formula = None
    # create(focus=...) makes one as well, for a program that may not know the class.
    _removed: ClassVar[str] = "flax.optim.MultiOptimizer, and with it create(focus=...),"

    def __init__(self, *traversals_and_optimizers: tuple[Any, OptimizerDef]) -> None:
        if not traversals_and_optimizers:
            raise ValueError("MultiOptimizer needs at least one pair (traversal, optimizer).")
        traversals, sub_optimizers = zip(*traversals_and_optimizers, strict=True)
        for definition in sub_optimizers:
            kind = getattr(definition, "multi_optimizer", MultiOptimizer)
            if type(self) is MultiOptimizer and kind is not MultiOptimizer:
                # Not in __new__, which subclasses with other arguments would have to know of.
                self.__class__ = kind
            if self.has_param_states:
                refuse_as_part(definition, type(self).__name__, "Use MultiOptimizer itself.")
        self.traversals = traversals
        self.sub_optimizers = sub_optimizers
        super().__init__([definition.hyper_params for definition in sub_optimizers])

    def init_state(self, params: PyTree) -> OptimizerState:
        """The state before the first step: that of each optimizer for its leaves, else None.

        Raises:
          ValueError: two traversals select the same leaf.
        """
        leaves = jax.tree.leaves(params)

        def first(each: Assignment) -> PyTree:
            mine = tuple(_as_array(leaves[index]) for index in each.leaves)
            return each.definition.init_state(mine).param_states

        states = self._said_by_each(params, first)
        return OptimizerState(jnp.asarray(0, dtype=jnp.int32), states)

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """The axes, from the optimizer of each leaf; None for a leaf that nothing moves."""
        columns = (
            jax.tree.leaves(params),
            leaves_like(params, state.param_states, "param_states"),
            leaves_like(params, param_axes, "param_axes"),
        )

        def axes(each: Assignment) -> PyTree:
            mine, states, specs = (tuple(its[index] for index in each.leaves) for its in columns)
            inner = OptimizerState(state.step, states)
            return each.definition.state_axes(mine, inner, specs).param_states

        return OptimizerState(PartitionSpec(), self._said_by_each(params, axes))

    def _said_by_each(self, params: PyTree, say: Callable[[Assignment], PyTree]) -> PyTree:
        """A tree with a value for each leaf, from its optimizer; None where nothing moves it."""
        treedef: PyTreeDef = jax.tree.structure(params)
        found: list[ParamState] = [None] * treedef.num_leaves
        for each in self.assign(self.hyper_params, params, range(len(found))):
            for index, its in zip(each.leaves, say(each), strict=True):
                found[index] = its
        return treedef.unflatten(found)

    def shown(self, hyper_params: HyperParams) -> str:
        """The class, with the pairs of traversals and definitions."""
        parts = zip(self.traversals, self.sub_optimizers, hyper_params, strict=False)
        pairs = [f"({selects(who)}, {part.shown(values)})" for who, part, values in parts]
        return f"{type(self).__name__}({', '.join(pairs)})"

    def own_code(self) -> OwnCode:
        """Where a subclass or a part has code of its own: a step calls parts that must be asked."""
        overridden = self._overridden()
        parts = [definition.own_code() for definition in self.sub_optimizers]
        around = "apply_gradient" in overridden
        part = any(own.asks or own.moves for own in parts)
        elsewhere = not (around or part) and (bool(overridden) or any(parts))
        return OwnCode(around=around, part=part, elsewhere=elsewhere)

    def expression(self, terms: HyperParams) -> ast.expr:
        """An ``optax.partition`` of the expressions of all parts, by their labels."""
        parts = {
            label: definition.expression(values)
            for label, definition, values in self._parts_by_label(terms)
        }
        return partition(parts, ast.Name("labels"))

    def expression_with_settable_rate(self) -> ast.expr:
        """The rate of a single part stands at the top; of several, each has its own."""
        parts = list(self._parts_by_label(self.hyper_params))
        if len(parts) == 1:
            return super().expression_with_settable_rate()
        settable = {label: each.expression_with_settable_rate() for label, each, _ in parts}
        return partition(settable, ast.Name("labels"))

    def labels(self, params: PyTree) -> PyTree:
        """For every parameter the key, in that text, of the optimizer that moves it."""
        treedef: PyTreeDef = jax.tree.structure(params)
        every = range(treedef.num_leaves)
        return labelled(treedef, self.assign(self.hyper_params, params, every))

    def _parts_by_label(
        self, hyper_params: HyperParams, within: str = ""
    ) -> Iterator[tuple[str, OptimizerDef, HyperParams]]:
        for index, (definition, values) in enumerate(self._with_hyper_params(hyper_params)):
            label = f"{within}{label_of(index)}"
            if isinstance(definition, MultiOptimizer):
                yield from definition._parts_by_label(values, f"{label}.")
            else:
                yield label, definition, values

    def assign(
        self, hyper_params: HyperParams, params: PyTree, eligible: Sequence[int]
    ) -> list[Assignment]:
        """Which definition moves which leaf, through MultiOptimizers inside this one as well."""
        selected = select(self.traversals, params, eligible)
        assignments = []
        pairs = self._with_hyper_params(hyper_params)
        # One without hyper-parameters is left out.
        for index, ((definition, values), leaves) in enumerate(zip(pairs, selected, strict=False)):
            if isinstance(definition, MultiOptimizer) and not definition.own_code().asks:
                assignments += [
                    dataclasses.replace(each, label=f"{label_of(index)}.{each.label}")
                    for each in definition.assign(values, params, leaves)
                ]
            else:
                assignments.append(Assignment(definition, values, leaves, label_of(index)))
        return assignments

    def partial_gradients(self, params: PyTree, grads: PyTree) -> list[Leaf] | None:
        """The gradients of all leaves, where only what the traversals select has one, as in flax.

        A leaf that no optimizer moves stands for its own gradient, which nothing asks for.
        """
        found = jax.tree.leaves(params)
        selected = select(self.traversals, params, range(len(found)))
        for traversal, leaves in zip(self.traversals, selected, strict=True):
            # A traversal may stop at a container, of which the gradients have the structure.
            own: PyTreeDef = jax.tree.structure(list(traversal.iterate(params)))
            try:
                mine = own.flatten_up_to(list(traversal.iterate(grads)))
            except (AttributeError, LookupError, TypeError, ValueError):
                return None
            for index, gradient in zip(leaves, mine, strict=True):
                found[index] = gradient
        return found

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> list[HyperParams]:
        """The same overrides for every optimizer."""
        return [
            definition.overridden_hyper_params(values, overrides)
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """The hyper-parameters of every optimizer, each as it wants them."""
        return [
            values if definition.own_code().asks else definition.normalise(values)
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def _with_hyper_params(
        self, hyper_params: Iterable[HyperParams]
    ) -> list[tuple[OptimizerDef, HyperParams]]:
        listed = isinstance(hyper_params, Iterable)
        hyper_params = list(hyper_params) if listed else []
        if not listed or len(hyper_params) != len(self.sub_optimizers):
            found = f"has {len(hyper_params)} entries" if listed else "is no list"
            problem = (
                f"hyper_params {found}, the MultiOptimizer has {len(self.sub_optimizers)}"
                " optimizers: give a list with one entry for each."
            )
            if not listed or is_strict():
                raise ValueError(problem)
            let_pass(
                f"{problem} As in flax.optim, what is left over is left out: an optimizer"
                " without an entry moves nothing in this step, and loses its state."
            )
        return list(zip(self.sub_optimizers, hyper_params, strict=False))

    def step_structure(self) -> tuple[object, ...]:
        """The traversals, and the structure of every optimizer."""
        return (
            type(self),
            self.traversals,
            tuple(definition.step_structure() for definition in self.sub_optimizers),
        )

    def upgrade_state_dict(self, target: PyTree, state_dict: PyTree) -> PyTree:
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


OptimizerDef.multi_optimizer = MultiOptimizer


def refuse_as_part(definition: OptimizerDef, whole: str, instead: str) -> None:
    """Raise the TypeError of a definition that cannot be a part of another, if it is one."""
    if not hasattr(definition, "has_param_states"):
        raise TypeError(
            f"{type(definition).__name__} cannot be in a {whole}: derive it from"
            " flaxoptim_compat.optim.OptimizerDef, which has more methods than that of flax.optim."
        )
    if not definition.has_param_states:
        raise TypeError(
            "A definition of from_optax has one state for all parameters and cannot be in a"
            f" {whole}. {instead}"
        )


def _as_array(leaf: Leaf) -> jax.Array:
    # Of an array that has values it is the array itself, which asking finds out slowly.
    concrete = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return leaf if concrete else jnp.asarray(leaf)

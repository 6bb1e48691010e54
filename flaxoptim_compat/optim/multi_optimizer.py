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
from flaxoptim_compat.bridge.trees import Target, leaves_like
from flaxoptim_compat.formula_text.stages import label_of, partition
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.model_param_traversal import selects
from flaxoptim_compat.optim.state import OptimizerState


class MultiOptimizer(OptimizerDef):
    """Applies different optimizers to different parts of a target.

    The same in optax is an ``optax.partition`` that leaves all other parameters unchanged. A leaf
    that no traversal selects never changes, and its state is None. ``hyper_params`` is a list with
    one entry for each optimizer.

    Args:
      *traversals_and_optimizers: pairs of a ``flax.traverse_util.Traversal`` and a definition.
    """

    # Each part has a formula of its own.
    formula = None
    # create(focus=...) makes a MultiOptimizer too, in programs that never name the class.
    _removed: ClassVar[str] = "flax.optim.MultiOptimizer, and with it create(focus=...),"

    def __init__(self, *traversals_and_optimizers: tuple[Any, OptimizerDef]) -> None:
        if not traversals_and_optimizers:
            raise ValueError("MultiOptimizer needs at least one pair (traversal, optimizer).")
        traversals, sub_optimizers = zip(*traversals_and_optimizers, strict=True)
        for definition in sub_optimizers:
            kind = getattr(definition, "multi_optimizer", MultiOptimizer)
            if type(self) is MultiOptimizer and kind is not MultiOptimizer:
                # Not in __new__: subclasses with other arguments would have to override that too.
                self.__class__ = kind
            if self.has_param_states:
                refuse_as_part(definition, type(self).__name__, "Use MultiOptimizer itself.")
        self.traversals = traversals
        self.sub_optimizers = sub_optimizers
        super().__init__([definition.hyper_params for definition in sub_optimizers])

    def init_state(self, params: PyTree) -> OptimizerState:
        """The state before the first step: from the optimizer of each leaf; None for other leaves.

        Raises:
          ValueError: two traversals select the same leaf.
        """
        leaves = jax.tree.leaves(params)

        def first_states(part: Assignment) -> PyTree:
            own_leaves = tuple(map(_as_array, part.pick(leaves)))
            return part.definition.init_state(own_leaves).param_states

        states = self._value_per_leaf(params, first_states)
        return OptimizerState(jnp.asarray(0, dtype=jnp.int32), states)

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """The axes of the state: from the optimizer of each leaf; None for other leaves."""
        columns = (
            jax.tree.leaves(params),
            leaves_like(params, state.param_states, "param_states"),
            leaves_like(params, param_axes, "param_axes"),
        )

        def axes(part: Assignment) -> PyTree:
            own_leaves, states, specs = map(part.pick, columns)
            part_state = OptimizerState(state.step, states)
            return part.definition.state_axes(own_leaves, part_state, specs).param_states

        return OptimizerState(PartitionSpec(), self._value_per_leaf(params, axes))

    def _value_per_leaf(self, params: PyTree, values_of: Callable[[Assignment], PyTree]) -> PyTree:
        """A tree like the parameters: a value from the optimizer of each leaf; None without one."""
        treedef: PyTreeDef = jax.tree.structure(params)
        values: list[ParamState] = [None] * treedef.num_leaves
        for part in self.assign(self.hyper_params, params, range(len(values))):
            part.put(values_of(part), values)
        return treedef.unflatten(values)

    def shown(self, hyper_params: HyperParams) -> str:
        """The class, with the pairs of traversals and definitions."""
        parts = zip(self.traversals, self.sub_optimizers, hyper_params, strict=False)
        pairs = [f"({selects(who)}, {part.shown(values)})" for who, part, values in parts]
        return f"{type(self).__name__}({', '.join(pairs)})"

    def own_code(self) -> OwnCode:
        """The places where code of the program's own takes part: in a subclass, or in a part."""
        overridden = self._overridden()
        parts = [definition.own_code() for definition in self.sub_optimizers]
        around = "apply_gradient" in overridden
        part = any(own.must_be_called or own.moves for own in parts)
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
        """The syntax tree with settable learning rates: one at the top, or one in each part."""
        parts = list(self._parts_by_label(self.hyper_params))
        if len(parts) == 1:
            return super().expression_with_settable_rate()
        settable = {
            label: definition.expression_with_settable_rate() for label, definition, _ in parts
        }
        return partition(settable, ast.Name("labels"))

    def labels(self, params: PyTree) -> PyTree:
        """A tree like the parameters: the label, in the text, of the optimizer of each one."""
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
        """The definitions and the leaves that each one moves, also inside inner MultiOptimizers."""
        selected = select(self.traversals, params, eligible)
        assignments = []
        pairs = self._with_hyper_params(hyper_params)
        # An optimizer without hyper-parameters moves nothing: `strict` refuses such a list.
        for index, ((definition, values), leaves) in enumerate(zip(pairs, selected, strict=False)):
            own = definition.own_code()
            if isinstance(definition, MultiOptimizer) and not own.must_be_called:
                assignments += [
                    dataclasses.replace(each, label=f"{label_of(index)}.{each.label}")
                    for each in definition.assign(values, params, leaves)
                ]
            else:
                assignments.append(Assignment(definition, values, leaves, label_of(index)))
        return assignments

    def gradients_of_leaves(self, target: Target, grads: PyTree) -> list[Leaf]:
        """The gradient of each leaf, from a tree with gradients of the selected leaves at least.

        Flax took such trees too. A leaf that no optimizer moves is in the list as its own gradient,
        which no step reads.
        """
        try:
            return super().gradients_of_leaves(target, grads)
        except ValueError as error:
            gradients = list(target.leaves)
            selected = select(self.traversals, target.tree, range(len(gradients)))
            for traversal, leaves in zip(self.traversals, selected, strict=True):
                # A traversal may stop at a container, whose structure its gradients have.
                structure: PyTreeDef = jax.tree.structure(list(traversal.iterate(target.tree)))
                try:
                    own_gradients = structure.flatten_up_to(list(traversal.iterate(grads)))
                except (AttributeError, LookupError, TypeError, ValueError):
                    raise error from None
                for index, gradient in zip(leaves, own_gradients, strict=True):
                    gradients[index] = gradient
            return gradients

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> list[HyperParams]:
        """The hyper-parameters of each optimizer, all with the same overrides."""
        return [
            definition.overridden_hyper_params(values, overrides)
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """The hyper-parameters of each optimizer, normalised by its definition."""
        return [
            values if definition.own_code().must_be_called else definition.normalise(values)
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def _with_hyper_params(
        self, hyper_params: Iterable[HyperParams]
    ) -> list[tuple[OptimizerDef, HyperParams]]:
        listed = isinstance(hyper_params, Iterable)
        hyper_params = list(hyper_params) if listed else []
        if not listed or len(hyper_params) != len(self.sub_optimizers):
            entries = f"has {len(hyper_params)} entries" if listed else "is no list"
            problem = (
                f"`hyper_params` {entries}, the MultiOptimizer has {len(self.sub_optimizers)}"
                " optimizers. Give a list with one entry for each optimizer."
            )
            if not listed or is_strict():
                raise ValueError(problem)
            let_pass(
                f"{problem} As in flax.optim, surplus entries are ignored, and an optimizer without"
                " an entry moves no parameter in this step and loses its state."
            )
        return list(zip(self.sub_optimizers, hyper_params, strict=False))

    def upgrade_state_dict(self, target: PyTree, state_dict: PyTree) -> PyTree:
        """The state dict of an older Flax in the layout of Flax 0.5.3."""
        count = len(jax.tree.leaves(target))
        parts = self.assign(self.hyper_params, target, range(count))
        groups = [part.leaves for part in parts]
        merged = checkpoints.merge_list_of_states(target, state_dict, groups)
        return checkpoints.upgrade(target, merged, parts)


OptimizerDef.multi_optimizer = MultiOptimizer


def refuse_as_part(definition: OptimizerDef, whole: str, instead: str) -> None:
    """Refuse a definition that cannot be a part of another one, of the class ``whole``.

    The message ends in ``instead``, a sentence that says what to do.

    Raises:
      TypeError: the part is no definition of this package, or has one state for all parameters.
    """
    if not hasattr(definition, "has_param_states"):
        raise TypeError(
            f"{type(definition).__name__} cannot be in a {whole}: derive it from"
            " `flaxoptim_compat.optim.OptimizerDef`, which has more methods than the class of that"
            " name in flax.optim."
        )
    if not definition.has_param_states:
        raise TypeError(
            "A definition made by `from_optax` has one state for all parameters and cannot be in a"
            f" {whole}. {instead}"
        )


def _as_array(leaf: Leaf) -> jax.Array:
    # `jnp.asarray` would return an array with values unchanged, but takes its time to find out.
    concrete = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return leaf if concrete else jnp.asarray(leaf)

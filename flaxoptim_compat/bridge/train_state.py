"""The conversion of one step: legacy tree -> optax state -> TrainState -> legacy tree.

The conversion moves leaves from one structure to another, and changes no number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import jax
import optax
from flax.training.train_state import TrainState
from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.definition import (
    Around,
    Assignment,
    Definition,
    Formula,
    HyperParams,
    Leaf,
    OldStates,
    ParamState,
    PyTree,
    StateFields,
    StateTrees,
)
from flaxoptim_compat.bridge.extra_args import ignored, update
from flaxoptim_compat.bridge.injected import is_injected
from flaxoptim_compat.bridge.masks import labelled
from flaxoptim_compat.bridge.pairing import Pairing
from flaxoptim_compat.formula_text.stages import FROZEN
from flaxoptim_compat.transforms import hold
from flaxoptim_compat.transforms.casting import with_dtype

# Flax's TrainState has another rule for the entry with this key; flax.optim knew no such key.
_OVERWRITE = "_overwrite_with_gradient"


class AnyTargetTrainState(TrainState):
    """A TrainState with any parameters, also without a mapping: an array, a tuple, a dataclass.

    Its step also takes the extra arguments of its transformation, such as the loss.
    """

    def apply_gradients(self, *, grads: PyTree, **kwargs: Any) -> Any:
        """Do one step; flax's own method calls ``name in grads``, which needs a mapping.

        Args:
          grads: the gradients.
          **kwargs: new values of other fields, and extra arguments for ``tx``.

        Raises:
          TypeError: an argument is no field, and ``tx`` does not take it.
        """
        fields = {field.name for field in dataclasses.fields(self)}
        extra_args = {name: kwargs[name] for name in kwargs.keys() - fields}
        arguments = grads, self.opt_state, self.params
        for name in ignored(self.tx.update, self.tx, *arguments, extra_args):
            del extra_args[name]
        updates, opt_state = update(self.tx, *arguments, **extra_args)
        return self.replace(
            step=self.step + 1,
            params=jax.tree.map(_moved, self.params, updates, is_leaf=lambda leaf: leaf is None),
            opt_state=opt_state,
            **{name: kwargs[name] for name in kwargs.keys() - extra_args.keys()},
        )


def _moved(param: Leaf, update: Leaf) -> Leaf:
    """``optax.apply_updates`` for one parameter, faster for the usual arrays."""
    arrays = isinstance(param, jax.Array) and isinstance(update, jax.Array)
    if arrays and param.dtype == update.dtype and param.shape == update.shape:
        return with_dtype(jax.lax.add(param, update), param.dtype)
    return optax.apply_updates(param, update)


def to_train_state(
    tx: optax.GradientTransformation,
    params: PyTree,
    step: Leaf,
    opt_state: PyTree,
    apply_fn: Callable[..., Any] | None = None,
    extra_args: bool = False,
) -> TrainState:
    """A TrainState for any parameters, and with ``extra_args`` for those that ``tx`` may take."""
    kind = kind_for(params, extra_args)
    state: TrainState = kind(
        step=step, apply_fn=cast(Any, apply_fn), params=params, tx=tx, opt_state=opt_state
    )
    return state


def kind_for(params: PyTree, extra_args: bool) -> type[TrainState]:
    """The class of TrainState that does the steps of these parameters."""
    mapping = isinstance(params, Mapping) and _OVERWRITE not in params
    return TrainState if mapping and not extra_args else AnyTargetTrainState


@dataclasses.dataclass(frozen=True, eq=False)
class _Part:
    """One of the definitions of a conversion, for its own leaves of a tree with this structure."""

    own: Assignment
    formula: Formula
    leaves: Sequence[Leaf]
    treedef: PyTreeDef
    pairing: Pairing | None
    inject_arrays: bool
    inject_numbers: bool

    @property
    def injects_schedule(self) -> bool:
        """True if the learning rate is a function that the chain does not take."""
        rate = hp.flatten(self.own.hyper_params).get("learning_rate")
        return callable(rate) and not self.formula.takes_schedule

    def injected(self, around: Around = lambda chain: chain) -> optax.GradientTransformation:
        """The chain, perhaps inside another transformation, with its settable hyper-parameters."""
        values, usual = self.own.hyper_params, self.own.definition.hyper_params
        names = hp.dynamic_names(values, usual, self.inject_arrays, self.inject_numbers)
        if self.injects_schedule:
            names += ("learning_rate",)
        return hp.inject(
            lambda new: around(self.chain(new)), values, names, self.leaves, rounds=True
        )

    def chain(self, hyper_params: HyperParams) -> optax.GradientTransformation:
        return self.formula.transformation(self.own.definition.values(hyper_params))

    def opt_state(self, step: Leaf, param_states: Sequence[ParamState]) -> PyTree:
        # The state for an empty tree has every node of the real state, and costs little.
        template = self.injected().init(())
        fields = self.formula.to_optax(self.own.pick(param_states), self._place)
        return filled(template, step, fields)

    def param_states(self, opt_state: PyTree, like: OldStates) -> Sequence[ParamState]:
        optax_states = nodes(opt_state, self.formula.state_fields)
        return self.formula.from_optax(optax_states, lambda: self.own.pick(like()), self._pick)

    def _place(self, values: Sequence[PyTree]) -> PyTree:
        """The tree with these values for the leaves, and optax's placeholder everywhere else."""
        full: list[PyTree] = [optax.MaskedNode()] * self.treedef.num_leaves
        self.own.put(values, full)
        tree = self.treedef.unflatten(full)
        return self.pairing.to_model(tree) if self.pairing else tree

    def _pick(self, tree: PyTree) -> Sequence[PyTree]:
        """The values, or the subtrees, in place of the leaves in a tree."""
        tree = self.pairing.to_target(tree) if self.pairing else tree
        return self.own.pick(self.treedef.flatten_up_to(tree))


class Conversion:
    """Definitions and their per-parameter states as one optax transformation and its state.

    Args:
      assignments: the definitions, all of them with a formula, and the leaves that each one moves.
        A learning rate may be a function of the step.
      params: the parameters, or anything with their structure, shapes and dtypes.
      inject_arrays: whether hyper-parameters that are arrays can be set in the optax state.
      formula_of: takes a definition to its formula.
      inject_numbers: whether hyper-parameters that are numbers can be set in the optax state.
      pairing: the place of each parameter in a model, if optax sees the structure of a model.
    """

    def __init__(
        self,
        assignments: Sequence[Assignment],
        params: PyTree,
        inject_arrays: bool = True,
        formula_of: Callable[[Definition, Pairing | None], Formula] = (
            lambda each, pairing: cast(Formula, each.formula)
        ),
        inject_numbers: bool = True,
        pairing: Pairing | None = None,
    ) -> None:
        self._assignments = assignments
        leaves, treedef = jax.tree.flatten(params)
        self._treedef: PyTreeDef = treedef
        self._pairing = pairing
        settings = treedef, pairing, inject_arrays, inject_numbers
        self._parts = [
            _Part(each, formula_of(each.definition, pairing), each.pick(leaves), *settings)
            for each in assignments
        ]
        alone = len(assignments) == 1
        # The hyper-parameters of a single part are at the top of the state, easy to find.
        self._at_top = alone and not self._parts[0].injects_schedule
        self._moves_all = alone and len(assignments[0].leaves) == len(leaves)

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """The transformation of all parts, each on its own leaves; other leaves never change."""
        if self._moves_all:
            tx = self._parts[0].injected()
        elif self._at_top:
            tx = self._parts[0].injected(lambda chain: self._partition([chain]))
        else:
            tx = self._partition([part.injected() for part in self._parts])
        return optax.with_extra_args_support(tx)

    def opt_state(self, step: Leaf, param_states: Sequence[ParamState]) -> PyTree:
        """The state of the transformation, converted from the legacy state of every leaf."""
        states = [part.opt_state(step, param_states) for part in self._parts]
        if self._moves_all:
            return states[0]
        if self._at_top and is_injected(states[0]):
            inner = self._partition_state([states[0].inner_state])
            return states[0]._replace(inner_state=inner)
        return self._partition_state(states)

    def param_states(self, opt_state: PyTree, like: OldStates) -> list[ParamState]:
        """The legacy state of every leaf, converted from a state of the transformation.

        Args:
          opt_state: the state to read.
          like: returns legacy states, for the fields that optax does not keep.
        """
        states: list[ParamState] = [None] * self._treedef.num_leaves
        for part, part_state in zip(self._parts, self._part_states(opt_state), strict=True):
            part.own.put(part.param_states(part_state, like), states)
        return states

    def check(self, opt_state: PyTree) -> None:
        """Refuse a state of another transformation.

        Raises:
          ValueError: a part of the state is missing.
        """
        if self._moves_all and any(map(_is_mask, jax.tree.leaves(opt_state, is_leaf=_is_mask))):
            raise ValueError(_without("moments for every parameter"))
        try:
            part_nodes = [
                nodes(part_state, part.formula.state_fields)
                for part, part_state in zip(self._parts, self._part_states(opt_state), strict=True)
            ]
        except (AttributeError, LookupError, TypeError, ValueError):
            labels = ", ".join(each.label for each in self._assignments)
            expected = f"state of `optax.partition` for {labels} and {FROZEN}"
            raise ValueError(_without(expected)) from None
        for part, kinds in zip(self._parts, part_nodes, strict=True):
            hyper_params = hp.with_some_rate(part.own.hyper_params)
            fields = part.formula.state_fields
            template = nodes(part.chain(hyper_params).init(()), fields)
            missing = [kind.__name__ for kind in fields if kind in template and kind not in kinds]
            if missing:
                raise ValueError(_without(missing[0]))

    def _part_states(self, opt_state: PyTree) -> list[PyTree]:
        if self._moves_all:
            return [opt_state]
        whole = opt_state.inner_state if is_injected(opt_state) else opt_state
        return [whole.inner_states[each.label].inner_state for each in self._assignments]

    def _by_label(self, values: Iterable[Any], frozen: Any) -> dict[str, Any]:
        labels = [each.label for each in self._assignments]
        return {**dict(zip(labels, values, strict=True)), FROZEN: frozen}

    def _partition(
        self, parts: Sequence[optax.GradientTransformation]
    ) -> optax.GradientTransformation:
        labels = labelled(self._treedef, self._assignments)
        labels = self._pairing.to_model(labels) if self._pairing else labels
        # Given as a function: optax would call the labels of a target whose tree is callable.
        return optax.partition(self._by_label(parts, hold()), lambda params: labels)

    def _partition_state(self, states: Sequence[PyTree]) -> PyTree:
        by_label = self._by_label(states, optax.EmptyState())
        # In jax's order of keys, which files have too.
        masked = {label: optax.MaskedState(by_label[label]) for label in sorted(by_label)}
        return optax.partition({}, lambda params: ()).init(())._replace(inner_states=masked)


def _is_mask(node: PyTree) -> bool:
    return isinstance(node, optax.MaskedNode)


def _without(expected: str) -> str:
    return (
        f"The TrainState does not belong to this definition: its `opt_state` has no {expected}."
        " Give the definition whose `to_train_state()` or `to_optax()` made the state: with another"
        " definition, moments would be lost."
    )


def filled(node: PyTree, step: Leaf, fields: StateTrees) -> PyTree:
    """The state with every count set to the step, and with the trees of moments in their fields."""
    if isinstance(node, dict):
        # Injected schedules have a count each.
        return {name: filled(child, step, fields) for name, child in node.items()}
    if not isinstance(node, tuple):
        return node
    if not hasattr(node, "_fields"):
        return tuple(filled(child, step, fields) for child in node)
    trees = fields.get(type(node), {})
    children = {
        name: trees[name] if name in trees else filled(getattr(node, name), step, fields)
        for name in node._fields
    }
    if "count" in children:
        children["count"] = step
    return type(node)(**children)


def nodes(node: PyTree, fields: StateFields) -> dict[type, PyTree]:
    """The named tuples of a state by their type, without those inside trees of moments."""
    if not isinstance(node, tuple):
        return {}
    if not hasattr(node, "_fields"):
        by_type: dict[type, PyTree] = {}
        for child in node:
            by_type.update(nodes(child, fields))
        return by_type
    by_type = {type(node): node}
    for name in node._fields:
        if name not in fields.get(type(node), {}):
            by_type.update(nodes(getattr(node, name), fields))
    return by_type

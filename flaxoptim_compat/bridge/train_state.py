"""The straight trip of one step: legacy tree -> optax state -> TrainState -> legacy tree.

Converting only moves leaves from one structure to another; no number changes on the way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
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
    ParamState,
    PyTree,
    StateFields,
    StateTrees,
)
from flaxoptim_compat.bridge.extra_args import ignored, update
from flaxoptim_compat.bridge.injected import is_injected
from flaxoptim_compat.bridge.masks import Layout, labelled
from flaxoptim_compat.formula_text.stages import FROZEN
from flaxoptim_compat.transforms import hold
from flaxoptim_compat.transforms.casting import with_dtype

# Flax's TrainState treats what stands under this key differently; flax.optim knew no such key.
_OVERWRITE = "_overwrite_with_gradient"


class AnyTargetTrainState(TrainState):
    """A TrainState whose parameters need not be a mapping: an array, a tuple, a dataclass.

    And one whose step takes the extra arguments of its transformation, such as the loss.
    """

    def apply_gradients(self, *, grads: PyTree, **kwargs: Any) -> Any:
        """Do one step; flax's own method asks ``name in grads``, which needs a mapping.

        Args:
          grads: the gradients.
          **kwargs: new values of other fields, and extra arguments for ``tx``.

        Raises:
          TypeError: an argument is no field, and ``tx`` does not take it.
        """
        fields = {each.name for each in dataclasses.fields(self)}
        extra_args = {name: kwargs[name] for name in kwargs.keys() - fields}
        trip = grads, self.opt_state, self.params
        for name in ignored(self.tx.update, self.tx, *trip, extra_args):
            del extra_args[name]
        updates, opt_state = update(self.tx, *trip, **extra_args)
        return self.replace(
            step=self.step + 1,
            params=jax.tree.map(_moved, self.params, updates, is_leaf=lambda leaf: leaf is None),
            opt_state=opt_state,
            **{name: kwargs[name] for name in kwargs.keys() - extra_args.keys()},
        )


def _moved(param: Leaf, update: Leaf) -> Leaf:
    """``optax.apply_updates`` for one parameter, by the shortest way there is."""
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
    """A TrainState of any parameters.

    Args:
      tx: what a step does.
      params: the parameters.
      step: the number of steps done.
      opt_state: the state of ``tx``.
      apply_fn: kept in the TrainState for the user.
      extra_args: whether ``tx`` may take more than gradients.
    """
    mapping = isinstance(params, Mapping) and _OVERWRITE not in params
    kind = TrainState if mapping and not extra_args else AnyTargetTrainState
    state: TrainState = kind(
        step=step, apply_fn=cast(Any, apply_fn), params=params, tx=tx, opt_state=opt_state
    )
    return state


class Conversion:
    """Definitions and their per-parameter states as one optax transformation and its state.

    Args:
      assignments: which definition moves which leaves, all of them written in optax. A learning
        rate may be a function of the step.
      params: the parameters, or anything with their structure, shapes and dtypes.
      inject_arrays: whether hyper-parameters that are arrays can be set in the state, too.
      inject_numbers: whether those that are numbers can.
      formula_of: what a definition is in optax.
    """

    def __init__(
        self,
        assignments: Sequence[Assignment],
        params: PyTree,
        inject_arrays: bool = True,
        formula_of: Callable[[Definition], Formula] = lambda each: cast(Formula, each.formula),
        inject_numbers: bool = True,
    ) -> None:
        leaves, treedef = jax.tree.flatten(params)
        self._treedef: PyTreeDef = treedef
        self._assignments = assignments
        self._labels = [each.label for each in assignments]
        self._formulas = [formula_of(each.definition) for each in assignments]
        self._layouts = [Layout(self._treedef, each.leaves) for each in assignments]
        # For each part the names to inject, the dtype to inject them in, and whether that rounds.
        schedules = [
            _schedules(each.hyper_params, formula)
            for each, formula in zip(assignments, self._formulas, strict=True)
        ]
        self._injected_names = [
            hp.dynamic_names(
                each.hyper_params, each.definition.hyper_params, inject_arrays, inject_numbers
            )
            + names
            for each, names in zip(assignments, schedules, strict=True)
        ]
        mine = [[leaves[index] for index in each.leaves] for each in assignments]
        self._injected_dtypes = list(map(hp.float_dtype, mine))
        self._round = list(map(hp.rounds, mine, self._injected_dtypes))
        alone = len(assignments) == 1
        # The hyper-parameters of a single part stand at the top, where one looks for them.
        self._at_top = alone and not any(schedules)
        self._moves_all = alone and len(assignments[0].leaves) == len(leaves)

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """Each part on its own leaves; the leaves of none of them stay as they are."""
        if self._moves_all:
            tx = self._injected(0)
        elif self._at_top:
            tx = self._injected(0, lambda chain: self._partition([chain]))
        else:
            tx = self._partition(list(map(self._injected, range(len(self._assignments)))))
        return optax.with_extra_args_support(tx)

    def opt_state(self, step: Leaf, param_states: Sequence[ParamState]) -> PyTree:
        """The state of the transformation, out of the legacy state of every leaf."""
        states = []
        for part, (each, layout) in enumerate(zip(self._assignments, self._layouts, strict=True)):
            # The state of an empty tree has every node of the real one, and costs nothing to make.
            template = self._injected(part).init(())
            mine = [param_states[index] for index in each.leaves]
            fields = self._formulas[part].to_optax(mine, layout.place)
            states.append(filled(template, step, fields))
        if self._moves_all:
            return states[0]
        if self._at_top and is_injected(states[0]):
            inner = self._partition_state([states[0].inner_state])
            return states[0]._replace(inner_state=inner)
        return self._partition_state(states)

    def param_states(self, opt_state: PyTree, like: Sequence[ParamState]) -> list[ParamState]:
        """The legacy state of every leaf, out of a state of the transformation.

        Args:
          opt_state: the state to read.
          like: legacy states, for whatever optax does not keep.
        """
        parts = self._parts(opt_state)
        states: list[ParamState] = [None] * self._treedef.num_leaves
        for each, formula, part, layout in zip(
            self._assignments, self._formulas, parts, self._layouts, strict=True
        ):
            old = [like[index] for index in each.leaves]
            new = formula.from_optax(nodes(part, formula.state_fields), old, layout.pick)
            for index, state in zip(each.leaves, new, strict=True):
                states[index] = state
        return states

    def check(self, opt_state: PyTree) -> None:
        """Raise the ValueError of a state that no such transformation has."""
        if self._moves_all and any(map(_is_mask, jax.tree.leaves(opt_state, is_leaf=_is_mask))):
            raise ValueError(_not_ours("moments for every parameter"))
        try:
            parts = self._parts(opt_state)
            found = [
                set(nodes(part, formula.state_fields))
                for formula, part in zip(self._formulas, parts, strict=True)
            ]
        except (AttributeError, LookupError, TypeError, ValueError):
            expected = f"state of optax.partition for {', '.join(self._labels)} and {FROZEN}"
            raise ValueError(_not_ours(expected)) from None
        for part, (formula, kinds) in enumerate(zip(self._formulas, found, strict=True)):
            hyper_params = self._assignments[part].hyper_params
            if hp.flatten(hyper_params).get("learning_rate", 0.0) is None:
                hyper_params = hp.with_values(hyper_params, {"learning_rate": 0.0})
            fields = formula.state_fields
            template = nodes(self._chain(part, hyper_params).init(()), fields)
            missing = [kind.__name__ for kind in fields if kind in template and kind not in kinds]
            if missing:
                raise ValueError(_not_ours(missing[0]))

    def _parts(self, opt_state: PyTree) -> list[PyTree]:
        if self._moves_all:
            return [opt_state]
        whole = opt_state.inner_state if is_injected(opt_state) else opt_state
        return [whole.inner_states[label].inner_state for label in self._labels]

    def _injected(
        self,
        part: int,
        around: Around = lambda chain: chain,
    ) -> optax.GradientTransformation:
        each = self._assignments[part]
        return hp.inject(
            lambda values: around(self._chain(part, values)),
            each.hyper_params,
            self._injected_names[part],
            self._injected_dtypes[part],
            self._round[part],
        )

    def _chain(self, part: int, hyper_params: HyperParams) -> optax.GradientTransformation:
        values = self._assignments[part].definition.values(hyper_params)
        return self._formulas[part].transformation(values)

    def _partition(
        self, parts: Sequence[optax.GradientTransformation]
    ) -> optax.GradientTransformation:
        labels = labelled(self._treedef, self._assignments)
        by_label = dict(zip(self._labels, parts, strict=True))
        # A function: optax would call a tree that can be called, as some targets can.
        return optax.partition({**by_label, FROZEN: hold()}, lambda params: labels)

    def _partition_state(self, states: Sequence[PyTree]) -> PyTree:
        by_label = {**dict(zip(self._labels, states, strict=True)), FROZEN: optax.EmptyState()}
        # In the order of jax, in which files have them.
        masked = {label: optax.MaskedState(by_label[label]) for label in sorted(by_label)}
        return optax.partition({}, lambda params: ()).init(())._replace(inner_states=masked)


def _schedules(hyper_params: HyperParams, formula: Formula) -> tuple[str, ...]:
    """The learning rate, if it is a function that the chain itself does not take."""
    rate = hp.flatten(hyper_params).get("learning_rate")
    return ("learning_rate",) if callable(rate) and not formula.takes_schedule else ()


def _is_mask(node: PyTree) -> bool:
    return isinstance(node, optax.MaskedNode)


def _not_ours(expected: str) -> str:
    return (
        f"The TrainState is none of this definition: its opt_state has no {expected}. Give the"
        " definition whose to_train_state() or to_optax() made it; moments of another kind would be"
        " lost."
    )


def filled(node: PyTree, step: Leaf, fields: StateTrees) -> PyTree:
    """A state with every count set to the step and every tree of moments put in its place."""
    if isinstance(node, dict):
        # Schedules that are injected have a count each.
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
    """The named tuples of a state by their type; trees of moments are not entered."""
    if not isinstance(node, tuple):
        return {}
    if not hasattr(node, "_fields"):
        found: dict[type, PyTree] = {}
        for child in node:
            found.update(nodes(child, fields))
        return found
    found = {type(node): node}
    for name in node._fields:
        if name not in fields.get(type(node), {}):
            found.update(nodes(getattr(node, name), fields))
    return found

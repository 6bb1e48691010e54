"""The MultiOptimizer with parts made by ``from_optax``: each part has a state of its own."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import PartitionSpec
from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.definition import Assignment, HyperParams, Leaf, PyTree
from flaxoptim_compat.bridge.extra_args import update
from flaxoptim_compat.bridge.trees import Target, leaves_like, step_count
from flaxoptim_compat.optim.conversion import FromDefinition
from flaxoptim_compat.optim.multi_optimizer import MultiOptimizer
from flaxoptim_compat.optim.state import OptimizerState
from flaxoptim_compat.transforms.hold import hold
from flaxoptim_compat.transforms.parameters import require_parameters


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class _Part(Assignment):
    """An assignment with its own parameters and state."""

    definition: Any
    params: tuple[Leaf, ...]
    state: OptimizerState


class OptaxMultiOptimizer(MultiOptimizer):
    """Applies different definitions to parts of a target, some of them made by ``from_optax``.

    Each part gets its parameters as a tuple. ``state.param_states`` is a tuple with the state of
    each part that has parameters. An override goes to all parts that know the hyper-parameter, an
    extra argument to all parts made by ``from_optax``. A name that no part takes is an error.
    """

    formula = None
    has_param_states: ClassVar[bool] = False

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> list[HyperParams]:
        """The hyper-parameters of each optimizer with the overrides that it may know.

        A step tells which of these overrides an optimizer takes.
        """
        return [
            _overridden(definition, values, overrides)
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def init_state(self, params: PyTree) -> OptimizerState:
        """The state before the first step, with the state of each part."""
        return OptimizerState(
            jnp.asarray(0, jnp.int32),
            tuple(
                part.definition.init_state(part.params).param_states
                for part in self._parts(self.hyper_params, params)
            ),
        )

    def apply_gradient(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """One step of each part.

        Raises:
          AssertionError: there is no learning rate.
          TypeError: no part takes an override.
          ValueError: the gradients do not fit the parameters.
        """
        target = Target(params)
        leaves, gradients = list(target.leaves), self.gradients_of_leaves(target, grads)
        states = []
        for part in _with_taken_overrides(self._parts(hyper_params, params, state), gradients):
            moved, after = part.definition.apply_gradient(
                part.hyper_params, part.params, part.state, part.pick(gradients)
            )
            states.append(after.param_states)
            part.put(moved, leaves)
        count = step_count(state.step) + 1
        return target.treedef.unflatten(leaves), OptimizerState(count, tuple(states))

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """The axes of the state, from each part for its own state."""
        specs = leaves_like(params, param_axes, "param_axes")
        part_axes = [
            part.definition.state_axes(part.params, part.state, part.pick(specs)).param_states
            for part in self._parts(self.hyper_params, params, state)
        ]
        return OptimizerState(PartitionSpec(), tuple(part_axes))

    def to_transformation(
        self, hyper_params: HyperParams, params: PyTree
    ) -> optax.GradientTransformationExtraArgs:
        """One transformation that runs the transformations of all parts."""
        state = jax.eval_shape(self.init_state, params)
        parts = _with_taken_overrides(self._parts(hyper_params, params, state))
        return _joint_transformation(
            parts,
            [part.definition.to_transformation(part.hyper_params, part.params) for part in parts],
        )

    def to_opt_state(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, inject: bool = True
    ) -> tuple[optax.GradientTransformationExtraArgs, PyTree]:
        """One transformation that runs the transformations of all parts, and its state."""
        parts = _with_taken_overrides(self._parts(hyper_params, params, state))
        converted = [
            part.definition.to_opt_state(part.hyper_params, part.params, part.state, inject)
            for part in parts
        ]
        joint = _joint_transformation(parts, [tx for tx, _ in converted])
        tx = FromDefinition.of(joint, self, hyper_params, params, inject=inject)
        return tx, tuple(opt_state for _, opt_state in converted)

    def from_opt_state(self, params: PyTree, step: Leaf, opt_state: PyTree) -> OptimizerState:
        """The state of an optimizer, converted from the optax state of each part.

        Raises:
          ValueError: the optax state belongs to another transformation.
        """
        parts = self._parts(self.hyper_params, params, OptimizerState(step, opt_state))
        states = [
            part.definition.from_opt_state(part.params, step, part.state.param_states).param_states
            for part in parts
        ]
        return OptimizerState(jnp.asarray(step, jnp.int32), tuple(states))

    def upgrade_state_dict(self, target: PyTree, state_dict: PyTree) -> PyTree:
        """The state dict unchanged: no older Flax wrote states of optax parts."""
        del target
        return state_dict

    def _parts(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState | None = None
    ) -> list[_Part]:
        """The parts that have parameters."""
        leaves = jax.tree.leaves(params)
        assigned = self.assign(hyper_params, params, range(len(leaves)))
        assigned = [each for each in assigned if each.leaves]
        states = [None] * len(assigned) if state is None else state.param_states
        if not isinstance(states, tuple | list) or len(states) != len(assigned):
            raise ValueError(
                "The state does not belong to this MultiOptimizer: its `param_states` must be a"
                f" tuple of {len(assigned)} states, one for each optimizer that has parameters."
            )
        step = None if state is None else state.step
        return [
            _with_own_extra_args(
                _Part(
                    **vars(each),
                    params=each.pick(leaves),
                    state=OptimizerState(step, part_state),
                ),
                params,
            )
            for each, part_state in zip(assigned, states, strict=True)
        ]


OptaxMultiOptimizer.multi_optimizer = OptaxMultiOptimizer  # for one inside another MultiOptimizer


def _overridden(definition: Any, values: HyperParams, overrides: Mapping[str, Any]) -> Any:
    if isinstance(definition, MultiOptimizer):
        # A MultiOptimizer without optax parts, too: its parts are parts of the whole.
        return [_overridden(*pair, overrides) for pair in definition._with_hyper_params(values)]
    if definition.has_param_states:
        known = hp.flatten(values)
        overrides = {name: overrides[name] for name in overrides if name in known}
    return definition.overridden_hyper_params(values, overrides)


def _with_taken_overrides(
    parts: Sequence[_Part], gradients: Sequence[Leaf] | None = None
) -> list[_Part]:
    """The parts, each with those of its overrides that it takes.

    Without a step there are no gradients, and an extra argument is an error.

    Raises:
      TypeError: no part takes an override.
    """
    settled: list[_Part] = []
    taken: set[str] = set()
    refusals: dict[str, _Part] = {}
    for part in parts:
        if not part.definition.has_param_states:
            grads = None if gradients is None else part.pick(gradients)
            known, unknown = part.definition.without_ignored(
                part.hyper_params, part.params, part.state, grads
            )
            refusals.update(dict.fromkeys(unknown, part))
            part = dataclasses.replace(part, hyper_params=known)
        taken.update(hp.flatten(part.hyper_params))
        settled.append(part)
    for name, part in refusals.items():
        if name not in taken:
            part.definition.refuse_unknown([name], part.state.param_states)
    return settled


def _with_own_extra_args(part: _Part, params: PyTree) -> _Part:
    """The part with extra arguments that are about its own parameters."""
    if part.definition.has_param_states:
        return part
    hyper_params = hp.fields_of(part.definition.hyper_params)
    extra_args = {
        name: _extra_arg_of_part(part, params, value)
        for name, value in hp.fields_of(part.hyper_params).items()
        if name not in hyper_params
    }
    return dataclasses.replace(part, hyper_params=part.hyper_params.replace(**extra_args))


def _extra_arg_of_part(part: Assignment, params: PyTree, value: Any) -> Any:
    """An extra argument for one part.

    A tree like the parameters becomes a tuple for the parameters of the part. A function of the
    parameters becomes a function of the part's parameters, with all others unchanged.
    """
    leaves, treedef = jax.tree.flatten(params)
    if callable(value):

        @functools.wraps(value)
        def of_part(*args: Any, **kwargs: Any) -> Any:
            return value(*map(_whole, args), **kwargs)

        def _whole(argument: Any) -> Any:
            if not isinstance(argument, tuple) or len(argument) != len(part.leaves):
                return argument
            whole = list(leaves)
            part.put(argument, whole)
            return jax.tree.unflatten(treedef, whole)

        return of_part
    values = jax.tree.leaves(value)
    structure: PyTreeDef = jax.tree.structure(value)
    same = structure == treedef and list(map(np.shape, values)) == list(map(np.shape, leaves))
    return part.pick(values) if same else value


def _joint_transformation(
    parts: Sequence[_Part], txs: Sequence[optax.GradientTransformation]
) -> optax.GradientTransformationExtraArgs:
    """A transformation of the whole target that runs one transformation for each part."""

    def init(params: PyTree) -> PyTree:
        leaves = jax.tree.leaves(params)
        return tuple(tx.init(part.pick(leaves)) for part, tx in zip(parts, txs, strict=True))

    def update_all(
        grads: PyTree, opt_state: PyTree, params: PyTree = None, **extra_args: Any
    ) -> tuple[PyTree, PyTree]:
        require_parameters(OptaxMultiOptimizer.__name__, params)
        leaves, treedef = jax.tree.flatten(params)
        gradients = leaves_like(params, grads, "gradients")
        updates, _ = hold().update(leaves, optax.EmptyState())
        states = []
        for part, tx, before in zip(parts, txs, opt_state, strict=True):
            own_args = {
                name: _extra_arg_of_part(part, params, value) for name, value in extra_args.items()
            }
            part_updates, after = update(
                tx, part.pick(gradients), before, part.pick(leaves), **own_args
            )
            states.append(after)
            part.put(part_updates, updates)
        return jax.tree.unflatten(treedef, updates), tuple(states)

    return optax.GradientTransformationExtraArgs(init, update_all)

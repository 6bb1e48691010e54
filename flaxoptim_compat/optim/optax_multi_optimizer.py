"""The MultiOptimizer some of whose parts are optax, each with one state for its parameters."""

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
from flaxoptim_compat.bridge.definition import HyperParams, Leaf, PyTree
from flaxoptim_compat.bridge.extra_args import update
from flaxoptim_compat.bridge.trees import leaves_like, step_count
from flaxoptim_compat.optim.conversion import FromDefinition
from flaxoptim_compat.optim.multi_optimizer import MultiOptimizer
from flaxoptim_compat.optim.state import OptimizerState
from flaxoptim_compat.transforms.hold import hold
from flaxoptim_compat.transforms.parameters import require_parameters


@dataclasses.dataclass(frozen=True, eq=False)
class _Part:
    """A definition, with what there is of its parameters only."""

    definition: Any
    hyper_params: HyperParams
    leaves: tuple[int, ...]
    params: tuple[Leaf, ...]
    state: OptimizerState

    def own(self, values: Sequence[PyTree]) -> tuple[PyTree, ...]:
        """The values for the parameters of this part, out of one for each of the whole target."""
        return tuple(values[index] for index in self.leaves)


class OptaxMultiOptimizer(MultiOptimizer):
    """Applies different definitions to parts of a target, some of them made by ``from_optax``.

    Each is handed its parameters as a tuple. ``state.param_states`` is a tuple with the state of
    each that has parameters. An override is for all that know it, and an extra argument for all
    that are made by ``from_optax``: an error is what nobody takes.
    """

    formula = None
    has_param_states: ClassVar[bool] = False

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> list[HyperParams]:
        """Every override for each optimizer that may know it; a step tells which ones do."""
        return [
            _overridden(definition, values, overrides)
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def init_state(self, params: PyTree) -> OptimizerState:
        """The states of all parts before the first step."""
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
          TypeError: nobody takes an override.
          ValueError: the gradients do not fit the parameters.
        """
        leaves, treedef = jax.tree.flatten(params)
        try:
            gradients = leaves_like(params, grads, "gradients")
        except ValueError:
            partial = self.partial_gradients(params, grads)
            if partial is None:
                raise
            gradients = partial
        states = []
        for part in _settled(self._parts(hyper_params, params, state), gradients):
            moved, after = part.definition.apply_gradient(
                part.hyper_params, part.params, part.state, part.own(gradients)
            )
            states.append(after.param_states)
            for index, leaf in zip(part.leaves, moved, strict=True):
                leaves[index] = leaf
        count = step_count(state.step) + 1
        return jax.tree.unflatten(treedef, leaves), OptimizerState(count, tuple(states))

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """The axes, from each part for its parameters."""
        specs = leaves_like(params, param_axes, "param_axes")
        found = [
            part.definition.state_axes(part.params, part.state, part.own(specs)).param_states
            for part in self._parts(self.hyper_params, params, state)
        ]
        return OptimizerState(PartitionSpec(), tuple(found))

    def to_transformation(
        self, hyper_params: HyperParams, params: PyTree
    ) -> optax.GradientTransformationExtraArgs:
        """The transformations of all parts as one."""
        state = jax.eval_shape(self.init_state, params)
        parts = _settled(self._parts(hyper_params, params, state))
        return _together(
            parts,
            [part.definition.to_transformation(part.hyper_params, part.params) for part in parts],
        )

    def to_opt_state(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, inject: bool = True
    ) -> tuple[optax.GradientTransformationExtraArgs, PyTree]:
        """The transformations of all parts as one, and their states."""
        parts = _settled(self._parts(hyper_params, params, state))
        found = [
            part.definition.to_opt_state(part.hyper_params, part.params, part.state, inject)
            for part in parts
        ]
        tx = _together(parts, [each for each, _ in found])
        made = FromDefinition.of(tx, self, hyper_params, params, inject=inject)
        return made, tuple(opt_state for _, opt_state in found)

    def from_opt_state(self, params: PyTree, step: Leaf, opt_state: PyTree) -> OptimizerState:
        """The states of all parts, out of those of their transformations.

        Raises:
          ValueError: the state is that of another transformation.
        """
        parts = self._parts(self.hyper_params, params, OptimizerState(step, opt_state))
        states = [
            part.definition.from_opt_state(part.params, step, part.state.param_states).param_states
            for part in parts
        ]
        return OptimizerState(jnp.asarray(step, jnp.int32), tuple(states))

    def upgrade_state_dict(self, target: PyTree, state_dict: PyTree) -> PyTree:
        """The state dict as it is: no older Flax wrote one."""
        del target
        return state_dict

    def _parts(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState | None = None
    ) -> list[_Part]:
        """The definitions that have parameters, with what is theirs."""
        leaves = jax.tree.leaves(params)
        assigned = self.assign(hyper_params, params, range(len(leaves)))
        assigned = [each for each in assigned if each.leaves]
        states = [None] * len(assigned) if state is None else state.param_states
        if not isinstance(states, tuple | list) or len(states) != len(assigned):
            raise ValueError(
                f"The state is none of this MultiOptimizer: it has no tuple of {len(assigned)}"
                " states, one for each of its optimizers that has parameters."
            )
        step = None if state is None else state.step
        return [
            _seeing_its_own(
                _Part(
                    each.definition,
                    each.hyper_params,
                    each.leaves,
                    tuple(leaves[index] for index in each.leaves),
                    OptimizerState(step, its),
                ),
                params,
            )
            for each, its in zip(assigned, states, strict=True)
        ]


OptaxMultiOptimizer.multi_optimizer = OptaxMultiOptimizer  # as a part of another one


def _overridden(definition: Any, values: HyperParams, overrides: Mapping[str, Any]) -> Any:
    if isinstance(definition, MultiOptimizer):
        # Also one of flax.optim alone, whose parts are parts of the whole.
        return [_overridden(*pair, overrides) for pair in definition._with_hyper_params(values)]
    if definition.has_param_states:
        known = hp.flatten(values)
        overrides = {name: overrides[name] for name in overrides if name in known}
    return definition.overridden_hyper_params(values, overrides)


def _settled(parts: Sequence[_Part], gradients: Sequence[Leaf] | None = None) -> list[_Part]:
    """The parts, each with the overrides that it takes; one that nobody takes is a TypeError.

    Without gradients, those of all parameters, there is no step, and no extra argument.
    """
    settled: list[_Part] = []
    taken: set[str] = set()
    refusals: dict[str, _Part] = {}
    for part in parts:
        if not part.definition.has_param_states:
            grads = None if gradients is None else part.own(gradients)
            known, unknown = part.definition.sorted_out(
                part.hyper_params, part.params, part.state, grads
            )
            refusals.update(dict.fromkeys(unknown, part))
            part = dataclasses.replace(part, hyper_params=known)
        taken.update(hp.flatten(part.hyper_params))
        settled.append(part)
    for name, part in refusals.items():
        if name not in taken:
            part.definition.refuse([name], part.state.param_states)
    return settled


def _seeing_its_own(part: _Part, params: PyTree) -> _Part:
    """The part, to which extra arguments speak of its own parameters."""
    if part.definition.has_param_states:
        return part
    hyper_params = hp.fields_of(part.definition.hyper_params)
    seen = {
        name: _seen_by(part.leaves, params, value)
        for name, value in hp.fields_of(part.hyper_params).items()
        if name not in hyper_params
    }
    return dataclasses.replace(part, hyper_params=part.hyper_params.replace(**seen))


def _seen_by(indices: tuple[int, ...], params: PyTree, value: Any) -> Any:
    """An extra argument as one part sees it.

    Of a tree like the parameters these are those of the part. A function of the parameters is one
    of those of the part, while the others stay where they are.
    """
    leaves, treedef = jax.tree.flatten(params)
    if callable(value):

        @functools.wraps(value)
        def of_part(*args: Any, **kwargs: Any) -> Any:
            return value(*(_whole(each) for each in args), **kwargs)

        def _whole(argument: Any) -> Any:
            if not isinstance(argument, tuple) or len(argument) != len(indices):
                return argument
            whole = list(leaves)
            for index, leaf in zip(indices, argument, strict=True):
                whole[index] = leaf
            return jax.tree.unflatten(treedef, whole)

        return of_part
    found = jax.tree.leaves(value)
    structure: PyTreeDef = jax.tree.structure(value)
    same = structure == treedef and list(map(np.shape, found)) == list(map(np.shape, leaves))
    return tuple(found[index] for index in indices) if same else value


def _together(
    parts: Sequence[_Part], txs: Sequence[optax.GradientTransformation]
) -> optax.GradientTransformationExtraArgs:
    """One transformation of the whole target, out of one for each part."""

    def init(params: PyTree) -> PyTree:
        leaves = jax.tree.leaves(params)
        return tuple(tx.init(part.own(leaves)) for part, tx in zip(parts, txs, strict=True))

    def update_all(
        grads: PyTree, opt_state: PyTree, params: PyTree = None, **extra_args: Any
    ) -> tuple[PyTree, PyTree]:
        require_parameters(OptaxMultiOptimizer.__name__, params)
        leaves, treedef = jax.tree.flatten(params)
        gradients = leaves_like(params, grads, "gradients")
        updates, _ = hold().update(leaves, optax.EmptyState())
        states = []
        for part, tx, before in zip(parts, txs, opt_state, strict=True):
            seen = {
                name: _seen_by(part.leaves, params, value) for name, value in extra_args.items()
            }
            moved, after = update(tx, part.own(gradients), before, part.own(leaves), **seen)
            states.append(after)
            for index, each in zip(part.leaves, moved, strict=True):
                updates[index] = each
        return jax.tree.unflatten(treedef, updates), tuple(states)

    return optax.GradientTransformationExtraArgs(init, update_all)

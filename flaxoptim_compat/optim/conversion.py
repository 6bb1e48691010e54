"""The conversion of a definition and its state to optax, and a transformation with its origin."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.definition import Definition, HyperParams, Leaf, ParamState, PyTree
from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.pairing import Pairing
from flaxoptim_compat.bridge.train_state import Conversion
from flaxoptim_compat.bridge.trees import leaves_like, step_count
from flaxoptim_compat.optim.legacy_loop import formula_of
from flaxoptim_compat.optim.state import OptimizerState


# Flax 0.11 flattens the contents of a nnx.Optimizer like jax, and rebuilds them. A named tuple
# would lose attributes that are no fields.
@jax.tree_util.register_static
class FromDefinition(optax.GradientTransformationExtraArgs):  # type: ignore[misc]
    """A transformation that knows the definition from which it was made.

    Transformations of equal definitions, for parameters of one structure, are equal. Jitted
    functions then keep their traces, and a loop may make a TrainState anew in each round.
    """

    definition: Definition
    hyper_params: HyperParams
    inject: bool
    pairing: Pairing | None
    _settings: tuple[object, ...]

    @classmethod
    def of(
        cls,
        tx: optax.GradientTransformationExtraArgs,
        definition: Definition,
        hyper_params: HyperParams,
        params: PyTree,
        pairing: Pairing | None = None,
        inject: bool = True,
    ) -> FromDefinition:
        """The same transformation with its origin: the definition, and all that it was made of."""
        made = cls(tx.init, tx.update)
        made.definition = definition
        made.hyper_params, made.inject = hyper_params, inject
        made.pairing = pairing
        shapes = [jnp.result_type(leaf) for leaf in jax.tree.leaves(params)]
        structure = jax.tree.structure(params)
        made._settings = (definition, hyper_params, structure, shapes, pairing, inject)
        return made

    def with_definition(self, definition: Definition) -> FromDefinition:
        """The same transformation with another object for its definition."""
        made = type(self)(self.init, self.update)
        made.__dict__.update(self.__dict__)
        made.definition = definition
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FromDefinition) and same(self._settings, other._settings)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(type(self.definition))


def conversion_of(
    definition: Definition,
    hyper_params: HyperParams,
    params: PyTree,
    inject_arrays: bool = True,
    normalise: bool = True,
    pairing: Pairing | None = None,
    inject_numbers: bool = True,
) -> Conversion:
    """The conversion of a definition with these values, and of its state, to optax and back.

    The leaves in the tree of the parameters decide which of them a MultiOptimizer moves. With
    ``normalise``, the definition normalises the values first. The other arguments are those of
    ``Conversion``.
    """
    if normalise and not definition.own_code().must_be_called:
        hyper_params = definition.normalise(hyper_params)
    count = len(jax.tree.leaves(params))
    assignments = definition.assign(hyper_params, params, range(count))
    return Conversion(assignments, params, inject_arrays, formula_of, inject_numbers, pairing)


def to_optax_state(
    definition: Definition,
    hyper_params: HyperParams,
    params: PyTree,
    state: OptimizerState,
    pairing: Pairing | None = None,
    inject: bool = True,
) -> tuple[FromDefinition, PyTree]:
    """The transformation of a definition, and its state, converted from that of an optimizer."""
    conversion = conversion_of(
        definition, hyper_params, params, pairing=pairing, inject_numbers=inject
    )
    states = leaves_like(params, state.param_states, "param_states")
    opt_state = conversion.opt_state(step_count(state.step), states)
    made = conversion.transformation()
    tx = FromDefinition.of(made, definition, hyper_params, params, pairing, inject)
    return tx, opt_state


class _Unread(jax.ShapeDtypeStruct):
    """In place of an array that optax does not keep, since no step reads it."""


def to_legacy_state(
    definition: Definition,
    params: PyTree,
    step: Leaf,
    opt_state: PyTree,
    pairing: Pairing | None = None,
) -> OptimizerState:
    """The state of an optimizer, converted from the state of its definition's transformation.

    Raises:
      ValueError: the optax state belongs to another transformation.
    """
    conversion = conversion_of(
        definition, definition.hyper_params, params, normalise=False, pairing=pairing
    )
    conversion.check(opt_state)
    count = jnp.asarray(step, jnp.int32)

    @functools.cache
    def fresh() -> list[ParamState]:
        shapes = jax.eval_shape(definition.init_state, params).param_states
        unread = jax.tree.map(
            lambda each: _Unread(count.shape + each.shape, each.dtype),  # type: ignore[no-untyped-call]
            shapes,
        )
        return leaves_like(params, unread, "param_states")

    states = conversion.param_states(opt_state, fresh)
    param_states = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, _Unread) else leaf,
        jax.tree.unflatten(jax.tree.structure(params), states),
    )
    return OptimizerState(count, param_states)

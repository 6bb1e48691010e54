"""A definition and its state as an optax transformation and its state, and back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.definition import Definition, HyperParams, Leaf, PyTree
from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.train_state import Conversion
from flaxoptim_compat.bridge.trees import leaves_like, step_count, unshared
from flaxoptim_compat.optim.legacy_loop import formula_of
from flaxoptim_compat.optim.state import OptimizerState


class FromDefinition(optax.GradientTransformationExtraArgs):  # type: ignore[misc]
    """A transformation that knows which definition it does the work of.

    Two of equal definitions, for parameters of one structure, are equal: functions under ``jit``
    take one for the other, and a loop may make a TrainState anew in each round.
    """

    definition: Definition
    _settings: tuple[Any, ...]

    @classmethod
    def of(
        cls,
        tx: optax.GradientTransformationExtraArgs,
        definition: Definition,
        hyper_params: HyperParams,
        params: PyTree,
    ) -> FromDefinition:
        """The same transformation, with what it was made of.

        Args:
          tx: the transformation.
          definition: the definition.
          hyper_params: the values that ``tx`` has in place of the definition's.
          params: the parameters that it is for.
        """
        made = cls(tx.init, tx.update)
        made.definition = definition
        shapes = [jnp.result_type(leaf) for leaf in jax.tree.leaves(params)]
        made._settings = (definition, hyper_params, jax.tree.structure(params), shapes)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FromDefinition) and same(self._settings, other._settings)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(type(self.definition))


def transformation_of(
    definition: Definition, hyper_params: HyperParams, params: PyTree
) -> optax.GradientTransformationExtraArgs:
    """The transformation that does what a definition does; ``init`` makes its first state."""
    tx = _conversion(definition, hyper_params, params, inject_arrays=False).transformation()

    def init(params: PyTree) -> Any:
        # The definition's own first state: a subclass may begin with something else than zeros.
        conversion = _conversion(definition, hyper_params, params, inject_arrays=False)
        state = definition.init_state(params)
        states = leaves_like(params, state.param_states, "param_states")
        return unshared(conversion.opt_state(step_count(state.step), states))

    return optax.GradientTransformationExtraArgs(init, tx.update)


def opt_state_of(
    definition: Definition, hyper_params: HyperParams, params: PyTree, state: OptimizerState
) -> tuple[FromDefinition, Any]:
    """The transformation, and its state out of the state of an optimizer."""
    conversion = _conversion(definition, hyper_params, params)
    states = leaves_like(params, state.param_states, "param_states")
    opt_state = conversion.opt_state(step_count(state.step), states)
    tx = FromDefinition.of(conversion.transformation(), definition, hyper_params, params)
    return tx, opt_state


def state_of(
    definition: Definition, params: PyTree, step: Leaf, opt_state: PyTree
) -> OptimizerState:
    """The state of an optimizer, out of that of the transformation.

    Raises:
      ValueError: the state is that of another transformation.
    """
    fresh = definition.init_state(params)
    conversion = _conversion(definition, definition.hyper_params, params, normalise=False)
    conversion.check(opt_state)
    states = conversion.param_states(
        opt_state, leaves_like(params, fresh.param_states, "param_states")
    )
    treedef = jax.tree.structure(params)
    return OptimizerState(jnp.asarray(step, jnp.int32), jax.tree.unflatten(treedef, states))


def _conversion(
    definition: Definition,
    hyper_params: HyperParams,
    params: PyTree,
    inject_arrays: bool = True,
    normalise: bool = True,
) -> Conversion:
    if normalise and definition.on_optax():
        hyper_params = definition.normalise(hyper_params)
    count = len(jax.tree.leaves(params))
    assignments = definition.assign(hyper_params, params, range(count))
    return Conversion(assignments, params, inject_arrays, formula_of)

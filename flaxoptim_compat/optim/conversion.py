"""A definition and its state as an optax transformation and its state, and back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.train_state import Conversion
from flaxoptim_compat.bridge.trees import leaves_like, step_count, unshared
from flaxoptim_compat.optim.legacy_loop import convertible
from flaxoptim_compat.optim.on_optax import OnOptax
from flaxoptim_compat.optim.state import OptimizerState


class FromDefinition(optax.GradientTransformationExtraArgs):  # type: ignore[misc]
    """A transformation that knows which definition it does the work of.

    Two of equal definitions, for parameters of one structure, are equal: functions under ``jit``
    take one for the other, and a loop may make a TrainState anew in each round.
    """

    definition: Any
    _settings: tuple[Any, ...]

    @classmethod
    def of(
        cls,
        tx: optax.GradientTransformationExtraArgs,
        definition: Any,
        hyper_params: Any,
        params: Any,
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


class Convertible(OnOptax):
    """The side of a definition that ``to_optax`` and ``to_train_state`` ask."""

    def to_transformation(
        self, hyper_params: Any, params: Any
    ) -> optax.GradientTransformationExtraArgs:
        """The transformation that does what the definition does; ``init`` makes its first state.

        Args:
          hyper_params: the values to start from. Arrays are built in, so that the definition can be
            made anew with other ones, as in ``optax.inject_hyperparams``.
          params: anything with the structure, shapes and dtypes of the parameters.
        """
        definition: Any = self
        tx = self._conversion(hyper_params, params, inject_arrays=False).transformation()

        def init(params: Any) -> Any:
            # The definition's own first state: a subclass may begin with something else than zeros.
            conversion = self._conversion(hyper_params, params, inject_arrays=False)
            state = definition.init_state(params)
            states = leaves_like(params, state.param_states, "param_states")
            return unshared(conversion.opt_state(step_count(state.step), states))

        return optax.GradientTransformationExtraArgs(init, tx.update)

    def to_opt_state(self, hyper_params: Any, params: Any, state: Any) -> tuple[Any, Any]:
        """The transformation, and its state out of the state of an optimizer."""
        conversion = self._conversion(hyper_params, params)
        states = leaves_like(params, state.param_states, "param_states")
        opt_state = conversion.opt_state(step_count(state.step), states)
        tx = FromDefinition.of(conversion.transformation(), self, hyper_params, params)
        return tx, opt_state

    def from_opt_state(self, params: Any, step: Any, opt_state: Any) -> OptimizerState:
        """The state of an optimizer, out of that of the transformation.

        Raises:
          ValueError: the state is that of another transformation.
        """
        definition: Any = self
        fresh = definition.init_state(params)
        conversion = self._conversion(self.hyper_params, params, normalise=False)
        conversion.check(opt_state)
        states = conversion.param_states(
            opt_state, leaves_like(params, fresh.param_states, "param_states")
        )
        treedef = jax.tree.structure(params)
        return OptimizerState(jnp.asarray(step, jnp.int32), jax.tree.unflatten(treedef, states))

    def _conversion(
        self, hyper_params: Any, params: Any, inject_arrays: bool = True, normalise: bool = True
    ) -> Conversion:
        definition: Any = self
        if normalise and self.on_optax():
            hyper_params = definition.normalise(hyper_params)
        count = len(jax.tree.leaves(params))
        assignments = convertible(self.assign(hyper_params, params, range(count)))
        return Conversion(assignments, params, inject_arrays)

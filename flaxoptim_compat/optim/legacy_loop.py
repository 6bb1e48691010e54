"""Definitions with code of the user's, as optax transformations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.masks import Assignment
from flaxoptim_compat.optim.on_optax import OnOptax, OptaxFields
from flaxoptim_compat.optim.state import OptimizerState
from flaxoptim_compat.transforms.parameters import require_parameters


class LegacyState(NamedTuple):
    """The optax state of a definition that runs its own code."""

    count: Any
    param_states: Any


class LegacyLoop(OnOptax):
    """Presents a definition that is no optax chain as if it were one.

    Optax adds an update to the parameter. The update here is the difference between the new and the
    old parameter, so the sum can miss the new parameter by its last bit; the state is exact.

    Args:
      definition: any definition.
    """

    optax_fields: ClassVar[OptaxFields] = {LegacyState: {"param_states": "param_states"}}

    def __init__(self, definition: Any) -> None:
        self.definition = definition
        self.hyper_params = definition.hyper_params

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """Runs ``init_state`` and ``apply_gradient`` of the definition."""

        def init(params: Any) -> LegacyState:
            if isinstance(params, tuple) and not params:
                # No parameters, no states. Code that takes nothing but dicts is not asked.
                return LegacyState(jnp.zeros((), jnp.int32), ())
            state = self.definition.init_state(params)
            return LegacyState(state.step, state.param_states)

        def update(grads: Any, state: LegacyState, params: Any = None) -> tuple[Any, LegacyState]:
            require_parameters(type(self.definition).__name__, params)
            new_params, new_state = self.definition.apply_gradient(
                hyper_params, params, OptimizerState(state.count, state.param_states), grads
            )
            updates = jax.tree.map(lambda new, old: new - old, new_params, params)
            return updates, LegacyState(new_state.step, new_state.param_states)

        return optax.GradientTransformation(init, update)

    def to_optax_fields(
        self, states: Sequence[Any], place: Callable[[Sequence[Any]], Any]
    ) -> dict[type, dict[str, Any]]:
        """The legacy states as they are."""
        return {LegacyState: {"param_states": place(states)}}

    def from_optax_fields(
        self,
        nodes: Mapping[type, Any],
        states: Sequence[Any],
        pick: Callable[[Any], Sequence[Any]],
    ) -> list[Any]:
        """The legacy states as they are."""
        del states
        return list(pick(nodes[LegacyState].param_states))


def convertible(assignments: Sequence[Assignment]) -> list[Assignment]:
    """The same assignments, with every definition presented as an optax chain."""
    return [
        each
        if each.definition.on_optax()
        else Assignment(LegacyLoop(each.definition), each.hyper_params, each.leaves)
        for each in assignments
    ]

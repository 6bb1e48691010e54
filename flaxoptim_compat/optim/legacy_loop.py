"""Definitions with code of the user's, as optax transformations."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.definition import (
    Definition,
    Formula,
    Leaf,
    Nodes,
    ParamState,
    Pick,
    Place,
    PyTree,
    StateFields,
    StateTrees,
    Values,
)
from flaxoptim_compat.bridge.pairing import Pairing
from flaxoptim_compat.optim.state import OptimizerState
from flaxoptim_compat.transforms.parameters import require_parameters


class LegacyState(NamedTuple):
    """The optax state of a definition that runs its own code."""

    count: Leaf
    param_states: PyTree


class LegacyLoop:
    """The formula of a definition that is no optax chain: its own code, step by step.

    Optax adds an update to the parameter. The update here is the difference between the new and the
    old parameter, so the sum can miss the new parameter by its last bit; the state is exact. A
    pairing says where the parameters are in the model whose structure optax sees, if it is a model.
    """

    state_fields: ClassVar[StateFields] = {LegacyState: {"param_states": "param_states"}}
    # The user's code is given numbers, and what it looks at is not known.
    takes_schedule: ClassVar[bool] = False
    splits: ClassVar[bool] = False

    def __init__(self, definition: Any, pairing: Pairing | None = None) -> None:
        self._definition = definition
        # The user's code sees the tree of its parameters, whatever optax is given.
        self._inward = pairing.to_target if pairing else lambda tree: tree
        self._outward = pairing.to_model if pairing else lambda tree: tree

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """Runs ``init_state`` and ``apply_gradient`` of the definition."""
        hyper_params = values["hyper_params"]

        def init(params: PyTree) -> LegacyState:
            if isinstance(params, tuple) and not params:
                # No parameters, no states. Code that takes nothing but dicts is not asked.
                return LegacyState(jnp.zeros((), jnp.int32), ())
            state = self._definition.init_state(self._inward(params))
            return LegacyState(state.step, self._outward(state.param_states))

        def update(
            grads: PyTree, state: LegacyState, params: PyTree = None
        ) -> tuple[PyTree, LegacyState]:
            require_parameters(type(self._definition).__name__, params)
            new_params, new_state = self._definition.apply_gradient(
                hyper_params,
                self._inward(params),
                OptimizerState(state.count, self._inward(state.param_states)),
                self._inward(grads),
            )
            updates = jax.tree.map(lambda new, old: new - old, self._outward(new_params), params)
            return updates, LegacyState(new_state.step, self._outward(new_state.param_states))

        return optax.GradientTransformation(init, update)

    def expression(self, terms: Values) -> ast.expr:
        """Refuse: the definition has no text in optax."""
        raise NotImplementedError(f"{type(self._definition).__name__} has no text in optax.")

    def to_optax(self, states: Sequence[ParamState], place: Place) -> StateTrees:
        """The legacy states as they are."""
        return {LegacyState: {"param_states": place(states)}}

    def from_optax(self, nodes: Nodes, old: Sequence[ParamState], pick: Pick) -> list[ParamState]:
        """The legacy states as they are."""
        del old
        return list(pick(nodes[LegacyState].param_states))


def formula_of(definition: Definition, pairing: Pairing | None = None) -> Formula:
    """The formula of a definition: its chain, or its own code as a loop."""
    formula = None if definition.own_code().asks else definition.formula
    return LegacyLoop(definition, pairing) if formula is None else formula

"""Optax transformations that run the code of a user's definition."""

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
    OldStates,
    ParamState,
    PickFromTree,
    PlaceInTree,
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
    """The formula of a definition without an optax chain: each step runs the definition's own code.

    Optax adds an update to the parameter. The update here is the difference between the new and the
    old parameter, so the sum can differ from the new parameter in the last bit. The state is exact.

    Args:
      definition: the definition.
      pairing: the place of each parameter in a model, if optax sees the structure of a model.
    """

    state_fields: ClassVar[StateFields] = {LegacyState: {"param_states": "param_states"}}
    # The user's code computes with numbers, so the rate cannot be a function of the step.
    takes_schedule: ClassVar[bool] = False
    # The user's code may look at all parameters to move one of them.
    splits: ClassVar[bool] = False

    def __init__(self, definition: Any, pairing: Pairing | None = None) -> None:
        self._definition = definition
        # The user's code sees the tree of its parameters, also if optax sees that of a model.
        self._to_target = pairing.to_target if pairing else lambda tree: tree
        self._to_model = pairing.to_model if pairing else lambda tree: tree

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """A transformation that calls ``init_state`` and ``apply_gradient`` of the definition."""
        hyper_params = values["hyper_params"]

        def init(params: PyTree) -> LegacyState:
            if isinstance(params, tuple) and not params:
                # Without parameters there are no states. The user's code may take dicts only.
                return LegacyState(jnp.zeros((), jnp.int32), ())
            state = self._definition.init_state(self._to_target(params))
            return LegacyState(state.step, self._to_model(state.param_states))

        def update(
            grads: PyTree, state: LegacyState, params: PyTree = None
        ) -> tuple[PyTree, LegacyState]:
            require_parameters(type(self._definition).__name__, params)
            new_params, new_state = self._definition.apply_gradient(
                hyper_params,
                self._to_target(params),
                OptimizerState(state.count, self._to_target(state.param_states)),
                self._to_target(grads),
            )
            updates = jax.tree.map(lambda new, old: new - old, self._to_model(new_params), params)
            return updates, LegacyState(new_state.step, self._to_model(new_state.param_states))

        return optax.GradientTransformation(init, update)

    def expression(self, terms: Values) -> ast.expr:
        """Refuse: the definition has no text in optax.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{type(self._definition).__name__} runs code of its own and has no text in optax."
            " `to_optax(definition, params)` makes a transformation that runs the code."
        )

    def to_optax(self, states: Sequence[ParamState], place: PlaceInTree) -> StateTrees:
        """The tree of the legacy states, unchanged, for the field of ``LegacyState``."""
        return {LegacyState: {"param_states": place(states)}}

    def from_optax(self, nodes: Nodes, old: OldStates, pick: PickFromTree) -> list[ParamState]:
        """The legacy states, unchanged, from the field of ``LegacyState``."""
        del old
        return list(pick(nodes[LegacyState].param_states))


def formula_of(definition: Definition, pairing: Pairing | None = None) -> Formula:
    """The formula of a definition: its chain, or a ``LegacyLoop`` that runs its own code."""
    formula = None if definition.own_code().must_be_called else definition.formula
    return LegacyLoop(definition, pairing) if formula is None else formula

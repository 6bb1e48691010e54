"""What a definition becomes in optax: a transformation, and what converts its state."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.definition import Definition, HyperParams, PyTree
from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.train_state import Conversion
from flaxoptim_compat.optim.legacy_loop import formula_of


class FromDefinition(optax.GradientTransformationExtraArgs):  # type: ignore[misc]
    """A transformation that knows which definition it does the work of.

    Two of equal definitions, for parameters of one structure, are equal: functions under ``jit``
    take one for the other, and a loop may make a TrainState anew in each round.
    """

    definition: Definition
    _settings: tuple[object, ...]

    @classmethod
    def of(
        cls,
        tx: optax.GradientTransformationExtraArgs,
        definition: Definition,
        hyper_params: HyperParams,
        params: PyTree,
    ) -> FromDefinition:
        """The same transformation, with what it was made of; the values are those that it has."""
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


def conversion_of(
    definition: Definition,
    hyper_params: HyperParams,
    params: PyTree,
    inject_arrays: bool = True,
    normalise: bool = True,
) -> Conversion:
    """How to bring a definition with these values, and its state, to optax and back."""
    if normalise and definition.on_optax():
        hyper_params = definition.normalise(hyper_params)
    count = len(jax.tree.leaves(params))
    assignments = definition.assign(hyper_params, params, range(count))
    return Conversion(assignments, params, inject_arrays, formula_of)

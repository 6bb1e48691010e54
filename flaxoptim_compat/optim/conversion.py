"""A definition in optax: its transformation, and the conversion of its state."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.definition import Definition, HyperParams, PyTree
from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.pairing import Pairing
from flaxoptim_compat.bridge.train_state import Conversion
from flaxoptim_compat.optim.legacy_loop import formula_of


# Flax 0.11 takes what is in a nnx.Optimizer apart as jax does, and puts it together again; what a
# named tuple has beside its fields would be lost on the way.
@jax.tree_util.register_static
class FromDefinition(optax.GradientTransformationExtraArgs):  # type: ignore[misc]
    """A transformation that knows which definition it does the work of.

    Two of equal definitions, for parameters of one structure, are equal: functions under ``jit``
    take one for the other, and a loop may make a TrainState anew in each round.
    """

    definition: Definition
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
        """The same transformation, with what it was made of; the values are those that it has."""
        made = cls(tx.init, tx.update)
        made.definition = definition
        made.pairing = pairing
        shapes = [jnp.result_type(leaf) for leaf in jax.tree.leaves(params)]
        structure = jax.tree.structure(params)
        made._settings = (definition, hyper_params, structure, shapes, pairing, inject)
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
    """How to bring a definition with these values, and its state, to optax and back.

    Args:
      definition: any definition.
      hyper_params: the values to start from.
      params: the parameters as the definition knows them: which ones there are decides what a
        MultiOptimizer moves.
      inject_arrays: whether hyper-parameters that are arrays can be set in the state, too.
      normalise: whether the values are brought to the form in which the definition wants them.
      pairing: where the parameters are in the model whose structure optax sees, if it is a model.
      inject_numbers: whether hyper-parameters that are numbers can be set in the state.
    """
    if normalise and not definition.own_code().asks:
        hyper_params = definition.normalise(hyper_params)
    count = len(jax.tree.leaves(params))
    assignments = definition.assign(hyper_params, params, range(count))
    if pairing is not None:
        params = pairing.to_model(params)
        assignments = [
            dataclasses.replace(each, leaves=pairing.places(each.leaves)) for each in assignments
        ]
    of = functools.partial(formula_of, pairing=pairing)
    return Conversion(assignments, params, inject_arrays, of, inject_numbers)

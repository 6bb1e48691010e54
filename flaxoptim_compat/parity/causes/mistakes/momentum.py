"""Mistakes of the momentum: missing, of another kind, or on the other side of the rate."""

from __future__ import annotations

from flaxoptim_compat import optim
from flaxoptim_compat.parity.causes.mistake import Mistake
from flaxoptim_compat.parity.causes.recipe import Recipe


def _missing(recipe: Recipe) -> Recipe | None:
    return recipe.without("momentum") if "momentum" in recipe.stages else None


MISTAKES = (
    Mistake(
        "momentum-missing",
        (optim.LARS, optim.Adafactor),
        says="has no momentum; flax.optim's definition has it",
        remedy="momentum=..., with the beta or beta1 of the definition",
        made=_missing,
        slot="momentum",
    ),
    Mistake(
        "momentum-missing",
        (optim.Momentum,),
        says=(
            "has no momentum, which is the default of optax.sgd; flax.optim's beta is 0.9 by"
            " default"
        ),
        remedy="optax.sgd(..., momentum=0.9), with the beta of the definition",
        made=_missing,
        slot="momentum",
    ),
    Mistake(
        "nesterov-missing",
        (optim.Momentum, optim.LARS),
        says="has plain momentum; flax.optim's definition has nesterov=True",
        remedy="nesterov=True",
        made=lambda recipe: (
            recipe.with_settings(nesterov=False) if recipe.settings["nesterov"] else None
        ),
    ),
    Mistake(
        "nesterov-added",
        (optim.Momentum, optim.LARS),
        says="has Nesterov's momentum; flax.optim's definition has the plain one",
        remedy="nesterov=False",
        made=lambda recipe: (
            None if recipe.settings["nesterov"] else recipe.with_settings(nesterov=True)
        ),
    ),
    Mistake(
        "rate-before-momentum",
        (optim.Momentum,),
        says=(
            "multiplies by the learning rate before the momentum, so that a new rate does not reach"
            " the old gradients; flax.optim does it after"
        ),
        remedy="optax.sgd(..., momentum=...), or optax.scale_by_learning_rate after optax.trace",
        made=lambda recipe: recipe.moved("rate", "decay" if "decay" in recipe.stages else None),
    ),
    Mistake(
        "rate-after-momentum",
        (optim.LARS, optim.Adafactor),
        says=(
            "multiplies by the learning rate after the momentum, so that a new rate reaches the old"
            " gradients too; flax.optim does it before"
        ),
        remedy="the learning rate before optax.trace, as optax.lars and optax.adafactor have it",
        made=lambda recipe: (
            recipe.moved("rate", after="momentum") if "momentum" in recipe.stages else None
        ),
    ),
)

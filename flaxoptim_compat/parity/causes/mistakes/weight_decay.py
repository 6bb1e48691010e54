"""Mistakes of the place of the weight decay."""

from __future__ import annotations

from typing import Any

from flaxoptim_compat import optim
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.parity.causes.mistake import EXACTLY, Mistake, settled
from flaxoptim_compat.parity.causes.recipe import Recipe

# In these the decay comes after the moments.
_DECOUPLED = tuple(kind for kind in KINDS if [*kind.formula.stages][1:2] == ["decay"])
_REMEDIES = {
    optim.Adam: "optax.adamw(..., weight_decay=...), with no add_decayed_weights before it",
    optim.LAMB: "optax.lamb(..., weight_decay=...), with no add_decayed_weights before it",
}


def _decays(recipe: Recipe) -> bool:
    decay = recipe.settings.get("weight_decay")
    return not (settled(decay) and decay == 0)


def _moved(recipe: Recipe, after: str | None) -> Recipe | None:
    return recipe.moved("decay", after) if _decays(recipe) else None


def _times_rate(recipe: Recipe) -> Recipe | None:
    decay, rate = recipe.settings["weight_decay_rate"], recipe.settings["learning_rate"]
    if decay is None or rate is None:
        return None
    return recipe.with_settings(weight_decay_rate=decay * rate)


def _before_moments(kind: Any) -> Mistake:
    function = kind.formula.stages["moments"].named_function.__name__
    return Mistake(
        "decay-before-moments",
        (kind,),
        says=(
            "adds the weight decay to the gradient, before the moments; flax.optim adds it to the"
            " update after them"
        ),
        remedy=_REMEDIES.get(kind, f"optax.add_decayed_weights right after optax.{function}"),
        made=lambda recipe: _moved(recipe, after=None),
        slot="decay",
    )


MISTAKES = (
    *map(_before_moments, _DECOUPLED),
    Mistake(
        "decay-after-moments",
        (optim.Momentum,),
        says="adds the weight decay after the momentum; flax.optim adds it to the gradient, before",
        remedy="optax.chain(optax.add_decayed_weights(...), optax.sgd(..., momentum=...))",
        made=lambda recipe: _moved(recipe, after="momentum"),
        slot="decay",
    ),
    Mistake(
        "decay-missing",
        (*_DECOUPLED, optim.Momentum),
        says="has no weight decay; flax.optim's definition has one",
        remedy=f"weight_decay=... of optax.adamw or optax.lamb, or {EXACTLY}",
        made=lambda recipe: recipe.without("decay") if _decays(recipe) else None,
        slot="decay",
    ),
    Mistake(
        "decay-missing",
        (optim.LARS,),
        says="has no weight decay; flax.optim's definition has one",
        made=lambda recipe: recipe.with_settings(weight_decay=0.0) if _decays(recipe) else None,
        slot="trust",
    ),
    Mistake(
        "decay-missing",
        (optim.Adafactor,),
        says="has no weight decay; flax.optim's definition has one",
        remedy="optax.adafactor(..., weight_decay_rate=...)",
        made=lambda recipe: recipe.without("decay") if "decay" in recipe.stages else None,
        slot="decay",
    ),
    Mistake(
        "decay-not-times-rate",
        (*_DECOUPLED, optim.Momentum),
        says=(
            "takes the weight decay off the parameter without the learning rate, p -"
            " weight_decay·p; flax.optim multiplies it by the rate"
        ),
        made=lambda recipe: _moved(recipe, after="rate"),
        slot="decay",
    ),
    Mistake(
        "decay-times-rate",
        (optim.Adafactor,),
        says="multiplies the weight decay by the learning rate; flax.optim's Adafactor does not",
        remedy="optax.adafactor(..., weight_decay_rate=...), which does not multiply it",
        made=_times_rate,
        slot="decay",
    ),
    Mistake(
        "decay-by-default",
        (optim.Adam,),
        says=(
            "has the weight decay of 1e-4 that optax.adamw has by default; flax.optim has none here"
        ),
        remedy="optax.adam(...), or optax.adamw(..., weight_decay=0.0)",
        made=lambda recipe: None if _decays(recipe) else recipe.with_settings(weight_decay=1e-4),
        slot="decay",
    ),
)

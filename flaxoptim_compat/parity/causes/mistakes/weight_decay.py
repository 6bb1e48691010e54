"""Where the weight decay comes in."""

from __future__ import annotations

from flaxoptim_compat import optim
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.parity.causes.mistake import EXACTLY, mistake, settled
from flaxoptim_compat.parity.causes.recipe import Recipe

# In these the decay comes after the moments.
_DECOUPLED = tuple(kind for kind in KINDS if [*kind.formula.stages][1:2] == ["decay"])
_AFTER = "flax.optim adds it to the update after them"


def _decays(recipe: Recipe) -> bool:
    decay = recipe.settings.get("weight_decay")
    return not (settled(decay) and decay == 0)


def _before_moments(recipe: Recipe) -> Recipe | None:
    return recipe.moved("decay", after=None) if _decays(recipe) else None


_REMEDIES = {
    optim.Adam: "optax.adamw(..., weight_decay=...), with no add_decayed_weights before it",
    optim.LAMB: "optax.lamb(..., weight_decay=...), with no add_decayed_weights before it",
}

for _kind in _DECOUPLED:
    _function = _kind.formula.stages["moments"].named_function.__name__
    mistake(
        "decay-before-moments",
        (_kind,),
        says=f"adds the weight decay to the gradient, before the moments; {_AFTER}",
        remedy=_REMEDIES.get(_kind, f"optax.add_decayed_weights right after optax.{_function}"),
        slot="decay",
    )(_before_moments)


@mistake(
    "decay-after-moments",
    (optim.Momentum,),
    says="adds the weight decay after the momentum; flax.optim adds it to the gradient, before",
    remedy="optax.chain(optax.add_decayed_weights(...), optax.sgd(..., momentum=...))",
    slot="decay",
)
def _after_moments(recipe: Recipe) -> Recipe | None:
    return recipe.moved("decay", after="momentum") if _decays(recipe) else None


@mistake(
    "decay-missing",
    (*_DECOUPLED, optim.Momentum),
    says="has no weight decay; flax.optim's definition has one",
    remedy=f"weight_decay=... of optax.adamw or optax.lamb, or {EXACTLY}",
    slot="decay",
)
def _missing(recipe: Recipe) -> Recipe | None:
    return recipe.without("decay") if _decays(recipe) else None


@mistake(
    "decay-missing",
    (optim.LARS,),
    says="has no weight decay; flax.optim's definition has one",
    slot="trust",
)
def _missing_in_lars(recipe: Recipe) -> Recipe | None:
    return recipe.with_settings(weight_decay=0.0) if _decays(recipe) else None


@mistake(
    "decay-missing",
    (optim.Adafactor,),
    says="has no weight decay; flax.optim's definition has one",
    remedy="optax.adafactor(..., weight_decay_rate=...)",
    slot="decay",
)
def _missing_in_adafactor(recipe: Recipe) -> Recipe | None:
    return recipe.without("decay") if "decay" in recipe.stages else None


@mistake(
    "decay-not-times-rate",
    (*_DECOUPLED, optim.Momentum),
    says=(
        "takes the weight decay off the parameter without the learning rate, p - weight_decay·p;"
        " flax.optim multiplies it by the rate"
    ),
    slot="decay",
)
def _not_times_rate(recipe: Recipe) -> Recipe | None:
    return recipe.moved("decay", after="rate") if _decays(recipe) else None


@mistake(
    "decay-times-rate",
    (optim.Adafactor,),
    says="multiplies the weight decay by the learning rate; flax.optim's Adafactor does not",
    remedy="optax.adafactor(..., weight_decay_rate=...), which does not either",
    slot="decay",
)
def _times_rate(recipe: Recipe) -> Recipe | None:
    decay, rate = recipe.settings["weight_decay_rate"], recipe.settings["learning_rate"]
    if decay is None or rate is None:
        return None
    return recipe.with_settings(weight_decay_rate=decay * rate)


@mistake(
    "decay-by-default",
    (optim.Adam,),
    says="has the weight decay of 1e-4 that optax.adamw has by default; flax.optim has none here",
    remedy="optax.adam(...), or optax.adamw(..., weight_decay=0.0)",
    slot="decay",
)
def _by_default(recipe: Recipe) -> Recipe | None:
    return None if _decays(recipe) else recipe.with_settings(weight_decay=1e-4)

"""Where eps stands in the denominator."""

from __future__ import annotations

import optax

from flaxoptim_compat import optim
from flaxoptim_compat.parity.causes.mistake import EXACTLY, mistake
from flaxoptim_compat.parity.causes.recipe import Recipe

_INSIDE = "puts eps inside the square root, 1/√(v + eps); flax.optim adds it outside, 1/(√v + eps)"


@mistake(
    "eps-inside-root",
    (optim.RMSProp,),
    says=_INSIDE,
    remedy="optax.rmsprop(..., eps_in_sqrt=False)",
)
def _inside_root(recipe: Recipe) -> Recipe | None:
    return recipe.with_arguments("moments", eps_in_sqrt=True)


@mistake("eps-inside-root", (optim.Adagrad,), says=_INSIDE, remedy=EXACTLY)
def _inside_root_of_sum(recipe: Recipe) -> Recipe | None:
    arguments = {"initial_accumulator_value": 0.0, "eps": "eps"}
    return recipe.replaced("moments", function=optax.scale_by_rss, positional=(), named=arguments)


@mistake(
    "eps-inside-root",
    (optim.Adam, optim.LAMB),
    says=_INSIDE,
    remedy="eps=... and eps_root=0.0, as optax.adam, optax.adamw and optax.lamb have it",
)
def _inside_root_only(recipe: Recipe) -> Recipe | None:
    return recipe.with_arguments("moments", eps=0.0, eps_root="eps")


@mistake(
    "eps-inside-root",
    (optim.AdaBelief,),
    says="adds eps to the second moment only, and not to its root; flax.optim adds it to both",
    remedy="optax.adabelief(..., eps=eps, eps_root=eps)",
    slot="eps-inside-root",
)
def _inside_belief_only(recipe: Recipe) -> Recipe | None:
    return recipe.with_arguments("moments", eps=0.0)


@mistake(
    "eps-outside-root",
    (optim.AdaBelief,),
    says=(
        "adds eps to the root of the second moment only, and not to the second moment;"
        " flax.optim adds it to both"
    ),
    remedy="optax.adabelief(..., eps=eps, eps_root=eps)",
    slot="eps-inside-root",
)
def _outside_belief_only(recipe: Recipe) -> Recipe | None:
    return recipe.with_arguments("moments", eps_root=0.0)

"""Mistakes of the place of eps in the denominator."""

from __future__ import annotations

import optax

from flaxoptim_compat import optim
from flaxoptim_compat.parity.causes.mistake import Mistake

_INSIDE = "puts eps inside the square root, 1/√(v + eps); flax.optim adds it outside, 1/(√v + eps)"

MISTAKES = (
    Mistake(
        "eps-inside-root",
        (optim.RMSProp,),
        says=_INSIDE,
        remedy="optax.rmsprop(..., eps_in_sqrt=False)",
        made=lambda recipe: recipe.with_arguments("moments", eps_in_sqrt=True),
    ),
    Mistake(
        "eps-inside-root",
        (optim.Adagrad,),
        says=_INSIDE,
        made=lambda recipe: recipe.replaced(
            "moments",
            function=optax.scale_by_rss,
            positional=(),
            named={"initial_accumulator_value": 0.0, "eps": "eps"},
        ),
    ),
    Mistake(
        "eps-inside-root",
        (optim.Adam, optim.LAMB),
        says=_INSIDE,
        remedy="eps=... and eps_root=0.0, as optax.adam, optax.adamw and optax.lamb have it",
        made=lambda recipe: recipe.with_arguments("moments", eps=0.0, eps_root="eps"),
    ),
    Mistake(
        "eps-inside-root",
        (optim.AdaBelief,),
        says="adds eps to the second moment only, and not to its root; flax.optim adds it to both",
        remedy="optax.adabelief(..., eps=eps, eps_root=eps)",
        made=lambda recipe: recipe.with_arguments("moments", eps=0.0),
    ),
    Mistake(
        "eps-outside-root",
        (optim.AdaBelief,),
        says=(
            "adds eps to the root of the second moment only, and not to the second moment;"
            " flax.optim adds it to both"
        ),
        remedy="optax.adabelief(..., eps=eps, eps_root=eps)",
        made=lambda recipe: recipe.with_arguments("moments", eps_root=0.0),
        slot="eps-inside-root",
    ),
)

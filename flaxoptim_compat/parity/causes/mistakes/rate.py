"""Mistakes of the learning rate: a wrong sign, no rate, or the rate of another step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import optax

from flaxoptim_compat import optim
from flaxoptim_compat.optim.formula import stage
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.parity.causes.mistake import Mistake
from flaxoptim_compat.parity.causes.recipe import Recipe

MISTAKES = (
    Mistake(
        "ascent",
        KINDS,
        says="adds the update to the parameter, up the gradient; flax.optim subtracts it",
        remedy="optax.scale_by_learning_rate(rate), or optax.scale(-rate)",
        made=lambda recipe: recipe.without("descent"),
        slot="rate",
    ),
    Mistake(
        "learning-rate-missing",
        KINDS,
        says=(
            "has no learning rate, and so adds the bare update to the parameter, up the gradient,"
            " as optax does for learning_rate=None; flax.optim subtracts the rate times the update"
        ),
        remedy="a learning rate",
        made=lambda recipe: recipe.without("descent").with_settings(learning_rate=1.0),
        slot="rate",
    ),
    Mistake(
        "learning-rate-missing",
        (optim.Adafactor,),
        says="has no learning rate; flax.optim multiplies by it",
        remedy="a learning rate",
        made=lambda recipe: recipe.with_settings(learning_rate=1.0),
        slot="rate",
    ),
)


def off_by_a_step(shift: int, rates: Sequence[float], first: int) -> Mistake:
    """The mistake of taking the learning rate of the step before, or after.

    Args:
      shift: -1 or 1.
      rates: the rates with the mistake, from the first step on.
      first: the step at which the run starts.
    """

    def made(recipe: Recipe) -> Recipe:
        scheduled = stage(_scale_by_table, tuple(rates), first)
        stages = {"scheduled_rate": scheduled, **recipe.stages}
        before = [*recipe.stages][: [*recipe.stages].index("rate")]
        moved = recipe.with_settings(learning_rate=1.0).with_stages(**stages)
        return moved.moved("scheduled_rate", after=before[-1] if before else None)

    which = "before" if shift < 0 else "after"
    return Mistake(
        "schedule-off-by-a-step",
        KINDS,
        says=f"has at each step the learning rate of the step {which} it",
        remedy="a schedule that counts as the program did: optax calls it with 0 at the first step",
        made=made,
        slot="rate",
    )


def _scale_by_table(rates: Any, first: Any) -> optax.GradientTransformation:
    """Multiply by the rate of the step in a table, whose first entry is that of step ``first``."""
    table = jnp.asarray(rates)

    def rate(count: Any) -> Any:
        # Outside jit a definition counts in floats.
        step = jnp.asarray(count - first, jnp.int32)
        return table[jnp.clip(step, 0, len(table) - 1)]

    return optax.scale_by_schedule(rate)

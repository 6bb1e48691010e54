"""Leave parameters exactly as they are."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax


def hold() -> optax.GradientTransformation:
    """Replace every update by the one that changes no bit of its parameter.

    The update is -0.0: adding 0.0, as ``optax.set_to_zero`` does, turns a parameter of -0.0 into
    0.0.
    """

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        del params
        return jax.tree.map(lambda update: jnp.full_like(update, -0.0), updates), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)

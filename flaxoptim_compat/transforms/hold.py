"""The transformation that never changes a parameter."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax


def hold() -> optax.GradientTransformation:
    """Replace every update by -0.0, which changes no bit of its parameter.

    ``optax.set_to_zero`` adds 0.0, which turns a parameter of -0.0 into 0.0.
    """

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        del params
        return jax.tree.map(lambda update: jnp.full_like(update, -0.0), updates), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)

"""LAMB's trust ratio as flax.optim had it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.transforms.parameters import require_parameters


def scale_by_lamb_trust_ratio() -> optax.GradientTransformation:
    """Scale each update by the norm of its parameter over its own norm.

    ``update · ‖param‖ / ‖update‖``, and the update itself where ``‖update‖`` is 0.

    For a parameter that is all zeros, ``optax.scale_by_trust_ratio`` uses the ratio 1. Here the
    ratio is 0, so such a parameter never moves, as in flax.
    """

    def scaled(update: jax.Array, param: jax.Array) -> jax.Array:
        param_norm = jnp.linalg.norm(param)
        update_norm = jnp.linalg.norm(update)
        # flax divided by a zero update norm and turned the parameter into NaN.
        moves = update_norm > 0.0
        ratio = jnp.where(moves, param_norm / jnp.where(moves, update_norm, 1.0), 1.0)
        return ratio * update

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_parameters("scale_by_lamb_trust_ratio", params)
        return jax.tree.map(scaled, updates, params), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)

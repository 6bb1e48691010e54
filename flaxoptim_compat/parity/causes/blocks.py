"""The few blocks that mistakes are made of and neither optax nor this package has."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax


def with_count(inner: optax.GradientTransformation, shift: int) -> optax.GradientTransformation:
    """Let a transformation believe that it has done so many steps more than it has."""

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        ahead = state._replace(count=state.count + shift)
        new_updates, new_state = inner.update(updates, ahead, params)
        return new_updates, new_state._replace(count=state.count + 1)

    return optax.GradientTransformation(inner.init, update)


def still_where_zero() -> optax.GradientTransformation:
    """Leave parameters alone that are all zeros."""

    def still(update: jax.Array, param: jax.Array) -> jax.Array:
        return jnp.where(jnp.any(param != 0), update, jnp.zeros_like(update))

    return optax.stateless(lambda updates, params: jax.tree.map(still, updates, params))


def scale_by_table(rates: Any, first: Any) -> optax.GradientTransformation:
    """Multiply by the rate that a table has for the step; ``first`` is the step of its first."""
    table = jnp.asarray(rates)

    def rate(count: Any) -> Any:
        # Outside jit a definition counts in floats.
        step = jnp.asarray(count - first, jnp.int32)
        return table[jnp.clip(step, 0, len(table) - 1)]

    return optax.scale_by_schedule(rate)

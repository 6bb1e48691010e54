"""The two stages of Adafactor that optax has, but not with flax.optim's arithmetic."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.transforms.parameters import require_parameters


def in_float32(inner: optax.GradientTransformation) -> optax.GradientTransformation:
    """Run a transformation in float32, its state included, whatever dtype the parameters have."""

    def cast(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), tree)

    def init(params: Any) -> Any:
        return inner.init(cast(params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        params = None if params is None else cast(params)
        new_updates, new_state = inner.update(cast(updates), state, params)
        return new_updates, new_state

    return optax.GradientTransformation(init, update)


def scale_by_rate_and_parameter_rms(
    learning_rate: Any, min_scale: Any = 1e-3
) -> optax.GradientTransformation:
    """Scale each update by the rate times the root mean square of its parameter.

    ``update · (learning_rate · max(√mean(p²), min_scale))``.

    ``optax.adafactor`` multiplies by the two one after the other, which rounds differently, and
    fixes ``min_scale`` at 1e-3.

    Args:
      learning_rate: the step size relative to the size of the parameter.
      min_scale: the least size assumed, so that a zero parameter can move.
    """

    def scaled(update: jax.Array, param: jax.Array) -> jax.Array:
        size = jnp.maximum(jnp.sqrt(jnp.mean(param * param)), min_scale)
        scaled_update: jax.Array = (learning_rate * size) * update
        return scaled_update

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_parameters("scale_by_rate_and_parameter_rms", params)
        return jax.tree.map(scaled, updates, params), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)

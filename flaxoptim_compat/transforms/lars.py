"""LARS's layerwise rate as flax.optim had it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.transforms.parameters import require_parameters


def scale_by_lars_rate(
    learning_rate: Any, weight_decay: Any = 0.0, trust_coefficient: Any = 0.001, eps: Any = 0.0
) -> optax.GradientTransformation:
    """Decay the gradient and scale it by the layer's own rate.

    ``rate = learning_rate · trust_coefficient · ‖p‖ / (‖g‖ + weight_decay · ‖p‖ + eps)``, or
    ``learning_rate`` where either norm is 0; ``update = rate · (g + weight_decay · p)``.

    ``optax.lars`` measures the norm of ``g + weight_decay · p`` instead.

    Args:
      learning_rate: the global step size.
      weight_decay: coefficient of the decay.
      trust_coefficient: how far a layer may move relative to its own norm.
      eps: added to the denominator of the ratio.
    """

    def scaled(grad: jax.Array, param: jax.Array) -> jax.Array:
        param_norm = jnp.linalg.norm(param)
        grad_norm = jnp.linalg.norm(grad)
        still = jnp.logical_or(grad_norm == 0.0, param_norm == 0.0)
        denominator = grad_norm + weight_decay * param_norm + eps
        ratio = trust_coefficient * param_norm / jnp.where(still, 1.0, denominator)
        rate = learning_rate * jnp.where(still, 1.0, ratio)
        if not (isinstance(weight_decay, float) and weight_decay == 0.0):
            grad = grad + weight_decay * param
        layer_update: jax.Array = rate * grad
        return layer_update

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_parameters("scale_by_lars_rate", params)
        return jax.tree.map(scaled, updates, params), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)

"""Adagrad's scaling as flax.optim had it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax


def scale_by_sum_of_squares(learning_rate: Any, eps: Any = 1e-8) -> optax.GradientTransformation:
    """Scale gradients by the rate over the root of the sum of all their squares.

    ``G' = G + g²``, ``update = learning_rate · g / (√G' + eps)``.

    ``optax.scale_by_rss`` starts ``G`` at 0.1 and adds eps inside the root. The rate is part of
    this stage because flax multiplied by the rate before the division, which decides the last bit.

    Args:
      learning_rate: the step size.
      eps: added to the root.
    """

    def init(params: Any) -> optax.ScaleByRssState:
        return optax.ScaleByRssState(jax.tree.map(jnp.zeros_like, params))

    def update(
        updates: Any, state: optax.ScaleByRssState, params: Any = None
    ) -> tuple[Any, optax.ScaleByRssState]:
        del params
        total = jax.tree.map(lambda g, s: s + jnp.square(g), updates, state.sum_of_squares)
        updates = jax.tree.map(lambda g, s: learning_rate * g / (jnp.sqrt(s) + eps), updates, total)
        return updates, optax.ScaleByRssState(total)

    return optax.GradientTransformation(init, update)

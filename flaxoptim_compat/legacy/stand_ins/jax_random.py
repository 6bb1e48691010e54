"""``jax.random.shuffle``, and the key of the one generator that all programs had."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def shuffle(key: Any, x: Any, axis: int = 0) -> jax.Array:
    """Shuffle the elements of an array along an axis, each line on its own."""
    # As an array, because permutation takes an integer as the length of a range.
    return jax.random.permutation(key, jnp.asarray(x), axis, independent=True)


def threefry2x32_key(seed: Any) -> jax.Array:
    """Make a key of the generator Threefry."""
    return jax.random.PRNGKey(seed, impl="threefry2x32")

"""Trees of parameters to measure with: any number of leaves of one shape."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def parameters(leaves: int, shape: tuple[int, ...], seed: int = 0) -> dict[str, Any]:
    """Layers of a kernel and a bias in turn, one leaf for each layer, all of this shape."""
    rng = np.random.default_rng(seed)
    return {
        f"layer{index:05d}": {("kernel", "bias")[index % 2]: _drawn(rng, shape)}
        for index in range(leaves)
    }


def gradients(params: Any, seed: int = 1) -> Any:
    """Gradients of the shapes of some parameters."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: _drawn(rng, leaf.shape), params)


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> jax.Array:
    return jnp.asarray(rng.standard_normal(shape, dtype=np.float32))

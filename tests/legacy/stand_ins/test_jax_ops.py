"""Indexed updates, which are methods of arrays today."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat.legacy.stand_ins import jax_ops
from tests.support.vectors import X


def test_indexed_updates_under_transformations() -> None:
    def program(x: Any) -> Any:
        return jnp.sum(jax_ops.index_update(x, jax_ops.index[1:3], 2.0 * x[0]) ** 2)

    expected = lambda x: jnp.sum(x.at[1:3].set(2.0 * x[0]) ** 2)
    assert jax.jit(jax.grad(program))(X).tolist() == jax.jit(jax.grad(expected))(X).tolist()
    batch = jax.vmap(lambda x: jax_ops.index_add(x, 0, 1.0))(jnp.zeros((2, 3)))
    assert batch.tolist() == [[1.0, 0.0, 0.0]] * 2
    assert jax_ops.index_mul.__name__ == "index_mul"
    assert "*= y" in str(jax_ops.index_mul.__doc__)

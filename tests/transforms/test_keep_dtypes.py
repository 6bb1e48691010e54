"""What a wide number has touched stays as narrow as it was."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.transforms import keep_dtypes

PARAMS = {"w": jnp.ones(3, jnp.bfloat16)}


def test_moments_keep_their_dtype_beside_a_wide_decay() -> None:
    wide = optax.trace(jnp.float32(0.9))
    kept = keep_dtypes(wide)
    dtypes = [tx.update(PARAMS, tx.init(PARAMS))[1].trace["w"].dtype for tx in (wide, kept)]
    assert dtypes == [jnp.float32, jnp.bfloat16]


def test_counts_are_counted_on() -> None:
    tx = keep_dtypes(optax.scale_by_adam())
    state = tx.init(PARAMS)
    after = tx.update(PARAMS, state)[1]
    assert int(after.count) == 1
    assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, state)

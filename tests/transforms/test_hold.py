"""Holding a parameter changes no bit of it."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax

from flaxoptim_compat.transforms import hold
from tests.support.side_by_side import assert_same

# Values that an addition of 0.0 would change, or could not.
PARAMS = {"w": jnp.asarray(np.array([-0.0, 0.0, np.inf, -1.5], np.float32))}


def test_not_even_the_sign_of_zero() -> None:
    tx = hold()
    updates, _ = tx.update({"w": jnp.full(4, 7.0)}, tx.init(PARAMS), PARAMS)
    assert_same(optax.apply_updates(PARAMS, updates), PARAMS)
    zeros, _ = optax.set_to_zero().update(PARAMS, optax.EmptyState(), PARAMS)
    assert not np.signbit(optax.apply_updates(PARAMS, zeros)["w"][0])

"""Adagrad's scaling, in numbers that have no rounding."""

from __future__ import annotations

import jax.numpy as jnp

from flaxoptim_compat.transforms import scale_by_sum_of_squares


def test_it_starts_at_zero_and_adds_up_squares() -> None:
    tx = scale_by_sum_of_squares(2.0, eps=1.0)
    state = tx.init(jnp.ones(2))
    assert state.sum_of_squares.tolist() == [0.0, 0.0]
    update, state = tx.update(jnp.asarray([3.0, -1.0]), state)
    assert (update.tolist(), state.sum_of_squares.tolist()) == ([1.5, -1.0], [9.0, 1.0])
    update, state = tx.update(jnp.asarray([4.0, 0.0]), state)
    assert (update.tolist(), state.sum_of_squares.tolist()) == (
        [jnp.float32(8) / 6, 0.0],
        [25.0, 1.0],
    )

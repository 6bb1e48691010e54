"""Directions and lengths are moved apart, in numbers that have no rounding."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat.transforms import weight_norm

# Two weight vectors of lengths 5 and 2, and a bias.
PARAMS = {"kernel": jnp.asarray([[3.0, 0.0], [4.0, 2.0]]), "bias": jnp.asarray([1.0, -1.0])}


def test_the_factors_at_the_start() -> None:
    state = weight_norm(optax.identity(), eps=0.0).init(PARAMS)
    assert state.scale["kernel"].tolist() == [[5.0, 2.0]]
    assert np.asarray(state.direction["kernel"]) == pytest.approx(
        np.array([[0.6, 0.0], [0.8, 1.0]])
    )
    assert state.direction["bias"].tolist() == [1.0, -1.0]


def test_a_gradient_along_a_vector_changes_its_length_only() -> None:
    tx = weight_norm(optax.scale(-1.0), eps=0.0)
    state = tx.init(PARAMS)
    grads = {"kernel": jnp.asarray([[0.0, 0.0], [0.0, 0.5]]), "bias": jnp.zeros(2)}
    updates, after = tx.update(grads, state, PARAMS)
    assert np.asarray(updates["kernel"]) == pytest.approx(
        np.array([[0.0, 0.0], [0.0, -0.5]]), abs=1e-6
    )
    assert np.asarray(after.scale["kernel"]) == pytest.approx(np.array([[5.0, 1.5]]))
    assert np.asarray(after.direction["kernel"]) == pytest.approx(
        np.asarray(state.direction["kernel"]), abs=1e-6
    )
    assert updates["bias"].tolist() == [0.0, 0.0]


def test_biases_are_moved_as_without_it() -> None:
    tx = weight_norm(optax.scale(-1.0), decay=10.0)
    grads = {"kernel": jnp.zeros((2, 2)), "bias": jnp.asarray([0.25, 0.5])}
    updates, _ = tx.update(grads, tx.init(PARAMS), PARAMS)
    assert updates["bias"].tolist() == [-0.25, -0.5]

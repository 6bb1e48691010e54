"""Directions and lengths are moved apart, in numbers that have no rounding."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat.transforms import weight_norm
from flaxoptim_compat.transforms.weight_norm import merge, split_gradient
from tests.support.side_by_side import assert_same

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


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16], ids=str)
def test_the_gradients_of_the_factors_are_those_of_jax(dtype: Any) -> None:
    """To the bit, with a column of zeros among them, whose square is a constant."""
    columns = jnp.linspace(-1.0, 2.0, 20 * 6).reshape(4, 5, 6).at[..., 2].set(0.0)
    direction = {"kernel": columns.astype(dtype), "bias": jnp.ones(6, dtype)}
    scale = {"kernel": jnp.linspace(0.5, 3.0, 6).reshape(1, 1, 6).astype(dtype), "bias": ()}
    grads = jax.tree.map(jnp.cos, direction)

    def of_jax(grads: Any, direction: Any, scale: Any) -> Any:
        _, pull_back = jax.vjp(lambda *factors: merge(*factors, 0.0), direction, scale)
        of_direction, of_scale = pull_back(grads)
        decayed = of_direction["kernel"] + 0.1 * direction["kernel"]
        return of_direction | {"kernel": decayed}, of_scale

    found = jax.jit(lambda *each: split_gradient(*each, 0.1, 0.0))(grads, direction, scale)
    assert_same(found, jax.jit(of_jax)(grads, direction, scale))
    assert not any(jnp.isnan(leaf).any() for leaf in jax.tree.leaves(found))

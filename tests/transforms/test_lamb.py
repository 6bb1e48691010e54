"""LAMB's trust ratio, in numbers that have no rounding."""

from __future__ import annotations

import jax.numpy as jnp
import optax
import pytest

from flaxoptim_compat.transforms import scale_by_lamb_trust_ratio

EMPTY = optax.EmptyState()


@pytest.mark.parametrize(
    ("param", "update", "scaled"),
    [
        ([3.0, 4.0], [0.0, 2.0], [0.0, 5.0]),
        ([3.0, 4.0], [0.0, 0.0], [0.0, 0.0]),  # and not NaN
        ([0.0, 0.0], [0.0, 2.0], [0.0, 0.0]),  # where optax takes 1 for the ratio
    ],
    ids=["both norms", "no update", "a parameter of zeros"],
)
def test_the_ratio_of_the_norms(
    param: list[float], update: list[float], scaled: list[float]
) -> None:
    params, updates = (jnp.asarray(each) for each in (param, update))
    found, _ = scale_by_lamb_trust_ratio().update(updates, EMPTY, params)
    assert found.tolist() == scaled


def test_optax_moves_a_parameter_of_zeros() -> None:
    params, updates = jnp.zeros(2), jnp.asarray([0.0, 2.0])
    found, _ = optax.scale_by_trust_ratio().update(updates, EMPTY, params)
    assert found.tolist() == [0.0, 2.0]

"""LARS's rate of a layer, in numbers that have no rounding."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import optax
import pytest

from flaxoptim_compat.transforms import scale_by_lars_rate

PARAM, GRAD = [3.0, 4.0], [0.0, 2.0]


@pytest.mark.parametrize(
    ("param", "grad", "options", "update"),
    [
        (PARAM, GRAD, {}, [0.0, 1.25]),
        (PARAM, GRAD, {"eps": 0.5}, [0.0, 1.0]),
        # The norm is that of the gradient, and the decay's is added to it.
        (PARAM, GRAD, {"weight_decay": 1.6}, [0.6, 1.05]),
        (PARAM, [0.0, 0.0], {"weight_decay": 1.0}, [1.5, 2.0]),
        ([0.0, 0.0], GRAD, {"weight_decay": 1.0}, [0.0, 1.0]),
    ],
    ids=["plain", "eps", "decay", "no gradient", "a parameter of zeros"],
)
def test_the_rate_of_a_layer(
    param: list[float], grad: list[float], options: dict[str, Any], update: list[float]
) -> None:
    tx = scale_by_lars_rate(0.5, trust_coefficient=0.5, **options)
    found, _ = tx.update(jnp.asarray(grad), optax.EmptyState(), jnp.asarray(param))
    assert found.tolist() == pytest.approx(update, rel=1e-6)

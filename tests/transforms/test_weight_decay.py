"""Decay is an addition, and none at all where there is none."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.transforms import weight_decay

PARAMS = jnp.asarray([2.0, -4.0])


def test_the_parameter_is_added() -> None:
    tx = weight_decay(0.5)
    assert tx.update(jnp.ones(2), tx.init(PARAMS), PARAMS)[0].tolist() == [2.0, -1.0]


@pytest.mark.parametrize(("rate", "additions"), [(0, 0), (0.0, 0), (0.5, 1), (jnp.zeros(()), 1)])
def test_what_it_costs(rate: Any, additions: int) -> None:
    tx = weight_decay(rate)
    jaxpr = jax.make_jaxpr(lambda grads: tx.update(grads, tx.init(PARAMS), PARAMS)[0])(PARAMS)
    assert str(jaxpr).count("add") == additions

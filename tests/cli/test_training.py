"""The distance of the two runs of the demo."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.cli import training


def test_the_distance_of_two_trees() -> None:
    one = {"a": jnp.asarray([1.0, 1e-3]), "b": jnp.asarray([4.0])}
    ulp = float(np.finfo(np.float32).eps)
    other = {"a": jnp.asarray([1.0, 1e-3 + 3 * ulp]), "b": jnp.asarray([4.0 + 8 * ulp])}
    assert training.distance(one, one) == (0.0, 0.0)
    assert training.distance(one, other) == pytest.approx((8 * ulp, 3.0), rel=1e-3)
    assert training.distance(one, {**one, "b": jnp.asarray([jnp.nan])}) == (math.inf, math.inf)

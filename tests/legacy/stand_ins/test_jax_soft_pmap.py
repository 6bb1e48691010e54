"""``jax.soft_pmap``."""

from __future__ import annotations

import jax

from flaxoptim_compat.legacy.stand_ins.jax_functions import soft_pmap
from tests.support.vectors import X


def test_it_maps_over_more_than_there_are_devices() -> None:
    assert soft_pmap(lambda x: 2 * x)(X).tolist() == (2 * X).tolist()
    normalized = soft_pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(X)
    assert normalized.tolist() == (X / X.sum()).tolist()

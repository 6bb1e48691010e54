"""Adafactor's stages that optax has otherwise, in numbers that have no rounding."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat.transforms import in_float32, scale_by_rate_and_parameter_rms
from flaxoptim_compat.transforms.adafactor import scale_by_factored_rms


@pytest.mark.parametrize(
    ("param", "update"), [([1.0, 7.0], [5.0, -10.0]), ([0.0, 0.0], [0.25, -0.5])]
)
def test_the_size_of_a_parameter_is_its_root_mean_square_or_the_least(
    param: list[float], update: list[float]
) -> None:
    tx = scale_by_rate_and_parameter_rms(1.0, min_scale=0.25)
    grads, state = jnp.asarray([1.0, -2.0]), optax.EmptyState()
    assert tx.update(grads, state, jnp.asarray(param))[0].tolist() == update
    in_jit = jax.jit(lambda params: tx.update(grads, state, params)[0])
    assert in_jit(jnp.asarray(param)).tolist() == update


def test_in_float32_everything_is() -> None:
    params = jnp.full(2, 3.0, jnp.bfloat16)
    tx = in_float32(optax.trace(0.5))
    state = tx.init(params)
    update, after = tx.update(params, state, params)
    assert {each.dtype for each in (state.trace, update, after.trace)} == {np.dtype("float32")}


def test_placeholders_are_the_very_arrays() -> None:
    params = {"factored": jnp.ones((4, 5)), "whole": jnp.ones(3)}
    tx = scale_by_factored_rms(min_dim_size_to_factor=2)
    state = tx.init(params)
    after = tx.update(params, state, params)[1]
    assert after.v["factored"] is state.v["factored"] and after.v["factored"].shape == (1,)
    assert after.v_row["whole"] is state.v_row["whole"]
    assert (after.v["whole"] != state.v["whole"]).all()
    assert (after.v_col["factored"] != state.v_col["factored"]).all()

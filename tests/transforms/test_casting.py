"""Dtypes are what jax says, and no work is done where there is none."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.transforms.casting import (
    dtype_of,
    is_like_a_python_number,
    like_a_python_number,
    with_dtype,
)


@pytest.mark.parametrize(
    "leaf",
    [1, 1.5, True, np.float64(2), np.ones(2, np.int8), jnp.ones(2, jnp.bfloat16), jnp.asarray(1.0)],
    ids=repr,
)
def test_the_dtype_is_the_one_that_jax_calculates_with(leaf: Any) -> None:
    assert dtype_of(leaf) == jnp.result_type(leaf)


def test_an_array_that_has_the_dtype_is_returned_itself() -> None:
    array = jnp.ones(2)
    assert with_dtype(array, jnp.float32) is array
    assert with_dtype(array, jnp.float16).dtype == jnp.float16


def test_a_weak_type_is_made_strong() -> None:
    weak = jnp.asarray(1.0)
    assert weak.weak_type and not with_dtype(weak, jnp.float32).weak_type


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_a_number_takes_the_dtype_of_what_it_is_multiplied_with(dtype: Any) -> None:
    rate, array = 1.0 + 2**-8, jnp.asarray([256.0, 384.0], dtype)
    number = like_a_python_number(jnp.float32(rate))
    assert number.dtype == jnp.float32 and is_like_a_python_number(number)
    assert not is_like_a_python_number(jnp.float32(rate))
    for product in (number * array, jax.jit(jnp.multiply)(number, array)):
        np.testing.assert_array_equal(product, rate * array)
        assert product.dtype == dtype


def test_an_integer_stays_as_it_is() -> None:
    assert like_a_python_number(jnp.int32(3)).dtype == jnp.int32


def test_a_number_of_python_becomes_an_array_of_the_dtype() -> None:
    assert with_dtype(0.5, jnp.bfloat16).dtype == jnp.bfloat16
    assert with_dtype(1 + 2j, jnp.float32) == 1

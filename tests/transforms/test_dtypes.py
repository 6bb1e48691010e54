"""Dtypes are what jax says, and no work is done where there is none."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.transforms.dtypes import dtype_of, with_dtype


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

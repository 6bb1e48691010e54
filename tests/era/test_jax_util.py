"""The small helpers of ``jax.util``."""

from __future__ import annotations

import pytest

from flaxoptim_compat import FlaxOptimDeprecationWarning, optim
from flaxoptim_compat.era import jax_util


def test_small_helpers() -> None:
    with pytest.raises(AssertionError, match=r"\[1, 2\]"):
        jax_util.safe_zip([1], [1, 2])
    assert jax_util.unzip3([(1, 2, 3), (4, 5, 6)]) == ((1, 4), (2, 5), (3, 6))
    assert jax_util.concatenate([[1], (2, 3)]) == [1, 2, 3]
    assert jax_util.curry(max)(1)(2, 3) == 3
    assert jax_util.ceil_of_ratio(7, 2) == 4
    assert [jax_util.canonicalize_axis(axis, 3) for axis in (-3, 0, 2)] == [0, 0, 2]
    with pytest.raises(ValueError, match="out of bounds"):
        jax_util.canonicalize_axis(3, 3)
    assert jax_util.tuple_insert((1, 2), 1, 5) == (1, 5, 2)
    assert jax_util.tuple_delete((1, 5, 2), 1) == (1, 2)


def test_a_warning_is_about_the_line_that_calls_the_helper() -> None:
    with pytest.warns(FlaxOptimDeprecationWarning, match="Adam") as shown:
        jax_util.safe_map(optim.Adam, [0.1])
    assert shown[0].filename == __file__

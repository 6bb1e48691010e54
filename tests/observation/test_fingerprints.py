"""Fingerprints tell whether arrays are the same, and about how far apart they are."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.observation.fingerprints import (
    NUMBERS,
    Fingerprint,
    digest,
    fingerprint,
    sketch,
)

DRAW = np.random.default_rng(0)
LARGE = DRAW.standard_normal((300, 701)).astype(np.float32)


def taken(array: Any) -> Fingerprint:
    return fingerprint(np.asarray(array), digest(np.asarray(array)))


@pytest.mark.parametrize(
    "array",
    [
        *(np.float32(2.0), np.zeros((0, 3), np.float32), np.arange(NUMBERS).reshape(2, -1)),
        *(np.array([True, False]), np.array([1 + 2j, 3], np.complex64)),
        *(np.array([np.nan, np.inf, -np.inf, -0.0], np.float32), LARGE, LARGE.T, LARGE[::2]),
        np.asarray(jnp.arange(300, dtype=jnp.bfloat16)),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_they_are_written_and_read(array: Any) -> None:
    one = taken(array)
    read = Fingerprint.from_json(one.as_json())
    assert (read.digest, read.dtype, read.shape) == (one.digest, one.dtype, array.shape)
    np.testing.assert_array_equal(read.numbers, one.numbers)
    assert len(one.numbers) <= NUMBERS
    if 0 < array.size * (2 if array.dtype.kind == "c" else 1) <= NUMBERS:
        parts = array.view(np.float32) if array.dtype.kind == "c" else array
        np.testing.assert_array_equal(one.numbers, np.ravel(parts).astype(np.float64))
        assert one.largest == pytest.approx(float(np.abs(np.ravel(parts)).max()), nan_ok=True)


def test_a_single_bit_is_seen() -> None:
    other = LARGE.copy()
    other[7, 7] = np.nextafter(other[7, 7], np.float32(9))
    assert taken(other).digest != taken(LARGE).digest
    assert taken(LARGE.copy()).digest == taken(LARGE).digest
    assert digest(np.array([0.0])) != digest(np.array([-0.0]))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_the_difference_of_sketches_has_the_size_of_the_difference(scale: float) -> None:
    for seed in range(5):
        apart = np.random.default_rng(seed).standard_normal(LARGE.shape) * scale
        estimate = np.linalg.norm(sketch(LARGE.astype(np.float64) + apart) - sketch(LARGE))
        # The variance of a square over 128 sums is 2/128 of it.
        assert estimate == pytest.approx(np.linalg.norm(apart), rel=4 * np.sqrt(2 / NUMBERS) / 2)


def test_one_element_that_differs_is_not_lost_among_many() -> None:
    other = LARGE.astype(np.float64)
    other[200, 3] += 0.25
    assert np.linalg.norm(sketch(other) - sketch(LARGE)) == pytest.approx(0.25)

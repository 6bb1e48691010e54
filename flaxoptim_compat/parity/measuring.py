"""Errors, distances and sizes of the arrays of both sides, measured after each step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# Small arrays of one shape are measured together, which compiles much faster; large arrays are not,
# since stacking would copy them.
_SMALL = 2**16

# The measures of a pair of arrays, as columns.
ERROR, DISTANCE, LARGEST, FIRST_NOT_FINITE, SECOND_NOT_FINITE = range(5)
MEASURES = 5


def measured(pairs: Sequence[tuple[Any, Any]], begin: Sequence[Any]) -> jax.Array:
    """The measures of pairs of arrays: one row each.

    Args:
      pairs: the same array on both sides.
      begin: the arrays of the first side at the start.
    """
    arrays = [(*pair, start) for pair, start in zip(pairs, begin, strict=True)]
    groups = _groups(arrays)
    if not groups:
        return jnp.zeros((0, MEASURES))
    rows = jnp.concatenate([_of_group([arrays[row] for row in group]) for group in groups])
    return rows[np.argsort(np.concatenate(groups))]


def _groups(arrays: Sequence[tuple[Any, ...]]) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for index, each in enumerate(arrays):
        size = math.prod(jnp.shape(each[0]))
        kind = (jnp.shape(each[0]), *map(jnp.result_type, each))
        groups.setdefault(kind if size < _SMALL else index, []).append(index)
    return list(groups.values())


def _of_group(group: Sequence[tuple[Any, ...]]) -> jax.Array:
    """The measures of arrays of one shape, as rows."""
    if len(group) == 1:
        return _reduced(*(array[None] for array in group[0]))
    return _reduced(*(jnp.stack(arrays) for arrays in zip(*group, strict=True)))


def _reduced(first: jax.Array, second: jax.Array, start: jax.Array) -> jax.Array:
    """All maxima in one reduction, which is one pass over the arrays."""
    exact = jnp.result_type(float)
    a, b, c = (_as_inexact(array, exact) for array in (first, second, start))
    # A difference must not vanish because the processor takes subnormal numbers for zero.
    difference = jnp.maximum(jnp.abs(a - b), np.finfo(exact).tiny)
    finite, other_finite = jnp.isfinite(a), jnp.isfinite(b)
    values = (
        jnp.where(_same(first, second), 0, difference),
        jnp.where(finite, jnp.abs(a - c), 0),
        jnp.maximum(jnp.where(finite, jnp.abs(a), 0), jnp.where(other_finite, jnp.abs(b), 0)),
        jnp.where(finite, 0, 1),
        jnp.where(other_finite, 0, 1),
    )
    maxima = jax.lax.reduce(
        tuple(value.astype(exact) for value in values),
        (jnp.zeros((), exact),) * len(values),
        lambda old, new: tuple(map(jnp.maximum, old, new)),
        tuple(range(1, first.ndim)),
    )
    return jnp.stack(maxima, axis=-1)


def _as_inexact(array: jax.Array, exact: Any) -> jax.Array:
    return array if jnp.issubdtype(array.dtype, jnp.complexfloating) else array.astype(exact)


def _same(first: jax.Array, second: jax.Array) -> jax.Array:
    """A mask of equal elements: NaN equals NaN, and 0 equals -0."""
    if first.dtype != second.dtype or jnp.issubdtype(first.dtype, jnp.complexfloating):
        wide = jnp.promote_types(first.dtype, second.dtype)
        a, b = first.astype(wide), second.astype(wide)
        return (a == b) | (jnp.isnan(a) & jnp.isnan(b))
    if not jnp.issubdtype(first.dtype, jnp.floating):
        return first == second
    bits = jnp.dtype(f"uint{8 * first.dtype.itemsize}")
    a, b = (jax.lax.bitcast_convert_type(array, bits) for array in (first, second))
    sign = jnp.asarray(1 << (8 * first.dtype.itemsize - 1), bits)
    both_zero = ((a | b) & ~sign) == 0
    return (a == b) | both_zero | (jnp.isnan(first) & jnp.isnan(second))

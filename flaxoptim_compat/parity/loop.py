"""Both sides in lock step, in one compiled loop that measures how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

# Small arrays of one shape are measured together, which compiles much faster; large ones are not,
# because to put them together they would have to be copied.
_SMALL = 2**16

# What is measured of each pair of arrays.
ERROR, DISTANCE, LARGEST, FIRST_NOT_FINITE, SECOND_NOT_FINITE = range(5)
MEASURES = 5


class Pair(NamedTuple):
    """The same array on both sides, and where the first one started."""

    first: Any
    second: Any
    start: Any


class Carry(NamedTuple):
    """What both sides carry from step to step."""

    first: Any
    second: Any


class Loop:
    """The compiled loop.

    Args:
      step: ``(carry, number of the step, what it is given) -> carry``.
      arrays: the pairs of arrays to compare, out of a carry; the same number of them at each step.
      start: the carry before the first step.
      capacity: the largest number of steps to do in one call.
    """

    def __init__(
        self,
        step: Callable[[Carry, Any, Any], Carry],
        arrays: Callable[[Carry], Sequence[tuple[Any, Any]]],
        start: Carry,
        capacity: int,
    ) -> None:
        self._step = step
        self._arrays = arrays
        self._begin = [first for first, _ in arrays(start)]
        self.capacity = capacity
        self._run = jax.jit(self._steps)
        self._measure = jax.jit(self._errors)

    def measure(self, carry: Carry) -> np.ndarray[Any, Any]:
        """What is measured of all pairs: one row each."""
        return np.asarray(self._measure(carry, self._begin), np.float64)

    def run(
        self, carry: Carry, first: int, steps: int, inputs: Any
    ) -> tuple[Carry, np.ndarray[Any, Any]]:
        """Do some steps.

        Args:
          carry: what was carried so far.
          first: the number of the first step to do.
          steps: how many, up to ``capacity``.
          inputs: trees whose leaves have ``capacity`` entries, one for each step.
        """
        carry, errors = self._run(carry, self._begin, first, first + steps, inputs)
        return carry, np.asarray(errors, np.float64)[:steps]

    def _steps(
        self, carry: Carry, begin: Any, first: Any, last: Any, inputs: Any
    ) -> tuple[Carry, jax.Array]:
        def body(index: Any, state: Any) -> Any:
            carry, errors = state
            given = jax.tree.map(lambda entries: entries[index - first], inputs)
            # What is measured must not be fused into the step, which it would round differently.
            carry = jax.lax.optimization_barrier(self._step(carry, index, given))
            row = self._errors(carry, begin)
            return carry, errors.at[index - first].set(row)

        width = len(begin)
        errors = jnp.zeros((self.capacity, width, MEASURES), jnp.result_type(float))
        result: tuple[Carry, jax.Array] = jax.lax.fori_loop(first, last, body, (carry, errors))
        return result

    def _errors(self, carry: Carry, begin: Sequence[Any]) -> jax.Array:
        pairs = [Pair(a, b, c) for (a, b), c in zip(self._arrays(carry), begin, strict=True)]
        groups = _groups(pairs)
        if not groups:
            return jnp.zeros((0, MEASURES))
        rows = jnp.concatenate([_measured([pairs[row] for row in group]) for group in groups])
        return rows[np.argsort(np.concatenate(groups))]


def _groups(pairs: Sequence[Pair]) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for index, pair in enumerate(pairs):
        size = math.prod(jnp.shape(pair.first))
        kind = (jnp.shape(pair.first), *(jnp.result_type(array) for array in pair))
        groups.setdefault(kind if size < _SMALL else index, []).append(index)
    return list(groups.values())


def _measured(pairs: Sequence[Pair]) -> Any:
    """What is measured of arrays of one shape, as rows."""
    if len(pairs) == 1:
        return _reduced(*(array[None] for array in pairs[0]))
    return _reduced(*(jnp.stack(arrays) for arrays in zip(*pairs, strict=True)))


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
    """Where two arrays hold the same number; NaN is the same as NaN, and 0 as -0."""
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

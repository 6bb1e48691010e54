"""Tests for results that jax 0.4.13 did not return, and a later release does."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def is_one_solution_for_all(answer: Any, a: Any, b: Any, *_: Any, **__: Any) -> bool:
    """True if ``b``, which could be a vector for each matrix, was taken as a single matrix."""
    return bool(2 < jnp.ndim(a) == jnp.ndim(b) + 1 and answer.ndim == jnp.ndim(a))


def is_of_integers(answer: Any, *_: Any, **__: Any) -> bool:
    """True if an array has integers."""
    return bool(jnp.issubdtype(answer.dtype, jnp.integer))


def is_complex(answer: Any, *_: Any, **__: Any) -> bool:
    """True if an array has complex numbers."""
    return bool(jnp.issubdtype(answer.dtype, jnp.complexfloating))


def has_matrices(answer: Any, *_: Any, **__: Any) -> bool:
    """True if an array has more dimensions than a matrix."""
    return bool(answer.ndim > 2)


def has_indices_in_rows(
    answer: Any,
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **_: Any,
) -> bool:
    """True if the inverse of ``unique``, of all axes together, is more than a vector."""
    del ar, return_index, return_counts
    return return_inverse and axis is None and any(each.ndim > 1 for each in answer)

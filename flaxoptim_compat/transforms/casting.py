"""The dtype of an array, and the array in another dtype: fast if there is nothing to change.

A trace calls these functions for every array of a state. Jax needs more time to find out that an
array already has the dtype than for everything else between two steps.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.versions.of_jax import with_weak_type


def dtype_of(leaf: Any) -> Any:
    """The dtype of an array or a number, as ``jnp.result_type`` returns it."""
    if isinstance(leaf, jax.Array) and not leaf.weak_type:
        return leaf.dtype
    return jnp.result_type(leaf)


def with_dtype(array: Any, dtype: Any) -> Any:
    """The result of ``array.astype(dtype)``: the array itself if it has the dtype.

    A Python number becomes an array. A real dtype takes the real part of complex numbers; jax warns
    of a cast without ``.real``.
    """
    if isinstance(array, jax.Array) and array.dtype == dtype and not array.weak_type:
        return array
    if isinstance(array, int | float | complex):
        array = jnp.asarray(array)
    if jnp.iscomplexobj(array) and not jnp.issubdtype(dtype, jnp.complexfloating):
        array = array.real
    return array.astype(dtype)


def with_update(param: Any, update: Any) -> Any:
    """The parameter after ``optax.apply_updates``; a numpy array or a Python number stays one."""
    if isinstance(param, jax.Array) or isinstance(update, jax.Array):
        return optax.apply_updates(param, update)
    return param + update


def is_like_a_python_number(value: Any) -> bool:
    """True if a number takes the dtype of the array that it is multiplied with."""
    return isinstance(value, int | float) or getattr(value, "weak_type", False)


def like_a_python_number(array: jax.Array) -> jax.Array:
    """The same scalar, but it takes the dtype of the array that it is multiplied with."""
    if array.weak_type or not jnp.issubdtype(array.dtype, jnp.floating):
        return array
    weak: jax.Array = with_weak_type(array)
    return weak

"""Asking for the dtype of an array and changing it, at no cost where there is nothing to do.

A trace does this for every array of a state, and jax takes longer to find out that an array has the
dtype already than all else takes that is done with it between two steps.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def dtype_of(leaf: Any) -> Any:
    """What ``jnp.result_type`` says of an array or a number."""
    if isinstance(leaf, jax.Array) and not leaf.weak_type:
        return leaf.dtype
    return jnp.result_type(leaf)


def with_dtype(array: Any, dtype: Any) -> Any:
    """What ``array.astype(dtype)`` returns: the array itself if it has the dtype."""
    if isinstance(array, jax.Array) and array.dtype == dtype and not array.weak_type:
        return array
    return array.astype(dtype)

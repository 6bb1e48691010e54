"""``jax.ops.index_update`` and the like, before arrays had ``at``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# jax.ops.index[1:, 0] is just the index, as a value.
index = np.s_


def _indexed(name: str, method: str, operator: str) -> Callable[..., jax.Array]:
    def update(
        x: Any, idx: Any, y: Any, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> jax.Array:
        x, y = jnp.asarray(x), jnp.asarray(y)
        # The result has the dtype of x, but is computed in the common dtype of x and y: for
        # integers, adding 0.6 twice adds 1.
        common = jnp.result_type(x, y)
        change = getattr(x.astype(common).at[idx], method)
        changed: jax.Array = change(
            y.astype(common),
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
        )
        return changed.astype(x.dtype)

    update.__doc__ = f"""Return a copy of an array in which ``x[idx] {operator}`` took place.

    Args:
      x: the array.
      idx: the index.
      y: the other operand.
      indices_are_sorted: whether the index is known to be sorted.
      unique_indices: whether the index is known to be without duplicates.
    """
    update.__name__ = update.__qualname__ = name
    return update


index_update = _indexed("index_update", "set", "= y")
index_add = _indexed("index_add", "add", "+= y")
index_mul = _indexed("index_mul", "multiply", "*= y")
index_min = _indexed("index_min", "min", "= minimum(x[idx], y)")
index_max = _indexed("index_max", "max", "= maximum(x[idx], y)")

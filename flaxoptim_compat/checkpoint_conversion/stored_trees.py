"""Trees whose arrays stay in their file while jax moves them: it asks for shape and dtype only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.checkpoint_files.stored import StoredArray, array_in_memory, is_index


def plain(tree: Any) -> Any:
    """The same tree of dicts, the mappings that jax goes into."""
    if not isinstance(tree, Mapping):
        return tree
    return {name: plain(child) for name, child in tree.items()}


def as_written(tree: Any) -> Any:
    """The same tree in the order in which Flax writes; arrays that were computed are in memory.

    Jax sorts the names of a dict, but not a list, which is a dict here, and has '10' after '9'.
    """
    if isinstance(tree, Mapping):
        names = sorted(tree, key=int) if all(map(is_index, tree)) else tree
        return {name: as_written(tree[name]) for name in names}
    return array_in_memory(tree) if isinstance(tree, jax.Array | np.ndarray) else tree


def read(leaf: Any) -> Any:
    """The values of a leaf, if it is an array in a file."""
    return leaf.read() if isinstance(leaf, StoredArray) else leaf


def small_array(leaf: Any) -> jax.Array:
    """An array for code that needs one: small, but a matrix stays a matrix, a vector a vector."""
    shape = tuple(min(size, 2) for size in np.shape(leaf))
    return jnp.zeros(shape, jnp.result_type(leaf))

"""Trees whose arrays stay in their file while jax moves them by their shapes and dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.checkpoint_files.stored import StoredArray, array_in_memory, is_index


def plain(tree: Any) -> Any:
    """The tree with a dict in place of each mapping, because jax flattens only dicts."""
    if not isinstance(tree, Mapping):
        return tree
    return {name: plain(child) for name, child in tree.items()}


def as_written(tree: Any) -> Any:
    """The tree in Flax's order of writing, with computed arrays as ``StoredArray`` in memory.

    Jax sorts the names of a dict. A list is a dict with numbers here, in which '10' comes after
    '9'.
    """
    if isinstance(tree, Mapping):
        names = sorted(tree, key=int) if all(map(is_index, tree)) else tree
        return {name: as_written(tree[name]) for name in names}
    return array_in_memory(tree) if isinstance(tree, jax.Array | np.ndarray) else tree


def read(leaf: Any) -> Any:
    """The values of a leaf that is an array in a file; any other leaf unchanged."""
    return leaf.read() if isinstance(leaf, StoredArray) else leaf


def small_array(leaf: Any) -> jax.Array:
    """A small array of zeros in place of a leaf, with as many dimensions, of size 2 at most."""
    shape = tuple(min(size, 2) for size in np.shape(leaf))
    return jnp.zeros(shape, jnp.result_type(leaf))

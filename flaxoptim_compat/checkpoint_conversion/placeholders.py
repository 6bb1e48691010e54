"""Converting trees without reading their arrays: what moves through jax only stands for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.checkpoint_files.stored import StoredArray, array_in_memory, is_index


class Placeholders:
    """Placeholders of stored arrays: objects with shape and dtype, which jax takes as leaves."""

    def __init__(self) -> None:
        self._stored: dict[int, StoredArray] = {}
        # An id means something only as long as the object exists.
        self._alive: list[Any] = []

    def put(self, tree: Any) -> Any:
        """The same tree of plain dicts, with a placeholder for every stored array."""
        if isinstance(tree, Mapping):
            return {name: self.put(child) for name, child in tree.items()}
        if not isinstance(tree, StoredArray):
            return tree
        placeholder = jax.ShapeDtypeStruct(tree.shape, tree.dtype)
        self._stored[id(placeholder)] = tree
        self._alive.append(placeholder)
        return placeholder

    def take(self, tree: Any) -> Any:
        """The same tree, with stored arrays again; those that were computed are in memory."""
        if isinstance(tree, Mapping):
            # The order in which Flax writes: jax sorts the names of a dict, but not a list, which
            # is a dict here, and has '10' after '9'.
            names = sorted(tree, key=int) if all(map(is_index, tree)) else tree
            return {name: self.take(tree[name]) for name in names}
        if id(tree) in self._stored:
            return self._stored[id(tree)]
        return array_in_memory(tree) if isinstance(tree, jax.Array | np.ndarray) else tree

    def read(self, tree: Any) -> Any:
        """The same tree with the values of its arrays."""
        return jax.tree.map(
            lambda leaf: self._stored[id(leaf)].read() if id(leaf) in self._stored else leaf, tree
        )


def small_array(placeholder: Any) -> jax.Array:
    """An array for code that needs one: small, but a matrix stays a matrix, a vector a vector."""
    shape = tuple(min(size, 2) for size in np.shape(placeholder))
    return jnp.zeros(shape, jnp.result_type(placeholder))

"""The leaves of a tree before it is written, and the bytes of its arrays, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from flaxoptim_compat.checkpoint_files.dtypes import is_number
from flaxoptim_compat.checkpoint_files.stored import (
    CheckpointError,
    StoredArray,
    Tree,
    array_in_memory,
)
from flaxoptim_compat.checkpoint_files.trees import with_children

PIECE = 2**22


def checked(tree: Any, path: tuple[str, ...] = ()) -> Tree:
    """The tree with a ``StoredArray`` in place of each array.

    Args:
      tree: nested mappings with arrays of any kind, Python scalars and None.
      path: the names that lead to the tree, for messages.

    Raises:
      CheckpointError: a checkpoint cannot hold a value of the tree.
    """
    if isinstance(tree, Mapping):
        for name in tree:
            if type(name) is not str:
                raise CheckpointError(
                    f"Nothing was written: {_place(path)} has an entry named {name!r}. Names in a"
                    " checkpoint must be texts: rename the entry."
                )
        entries = {name: checked(child, (*path, name)) for name, child in tree.items()}
        return with_children(tree, entries)
    if tree is None or type(tree) in (bool, int, float, complex, str, bytes):
        return cast("Tree", tree)
    array = tree if isinstance(tree, StoredArray) else None
    if array is None and hasattr(tree, "dtype"):
        array = array_in_memory(tree)
    if array is None or not is_number(array.dtype):
        kind = type(tree).__name__ if array is None else f"an array of dtype {array.dtype}"
        raise CheckpointError(
            f"Nothing was written: {_place(path)} is {kind}, which a checkpoint cannot hold. Use"
            " arrays of numbers, Python numbers, texts and None only."
        )
    return array


def _place(path: tuple[str, ...]) -> str:
    return "/".join(path) or "the tree"


def values_of(array: StoredArray) -> np.ndarray[Any, Any]:
    """The values of an array, checked against its shape and dtype.

    Raises:
      CheckpointError: the values cannot be read.
      TypeError: the values have another shape or dtype.
    """
    values = array.read()
    if values.shape != array.shape or values.dtype != array.dtype:
        raise TypeError(f"{array} has values of shape {values.shape} and dtype {values.dtype}")
    return values


def pieces(values: np.ndarray[Any, Any], begin: int = 0, end: int | None = None) -> Iterator[Any]:
    """The bytes of the values from ``begin`` to ``end``, in C order and the machine's byte order.

    The bytes are not copied if the array already has both orders.
    """
    end = values.size if end is None else end
    native = values.dtype.newbyteorder("=")
    flat = values.reshape(-1) if values.flags.c_contiguous else values.flat
    step = max(1, PIECE // max(1, values.dtype.itemsize))
    for first in range(begin, end, step):
        piece = flat[first : min(first + step, end)].astype(native, copy=False)
        yield piece.view(np.uint8).data

"""Arrays of more than 2**30 bytes, which flax.serialization writes as a map of shorter ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flaxoptim_compat.checkpoint_files.dtypes import is_possible_shape
from flaxoptim_compat.checkpoint_files.source import ArrayInFile, empty_bytes
from flaxoptim_compat.checkpoint_files.stored import StoredArray, Tree

CHUNKED = "__msgpack_chunked_array__"
LARGEST_CHUNK = 2**30


def joined(entries: Mapping[str, Tree], path: Path) -> StoredArray:
    """The array that such a map stands for.

    Args:
      entries: the map.
      path: the file that it is in.

    Raises:
      ValueError: its entries do not fit together.
    """
    if set(entries) != {CHUNKED, "shape", "chunks"}:
        raise ValueError(f"a chunked array has the entries {sorted(entries)}")
    shape = _in_order(entries["shape"])
    chunks = [chunk for chunk in _in_order(entries["chunks"]) if isinstance(chunk, ArrayInFile)]
    lengths = [length for length in shape if type(length) is int and length >= 0]
    if len(lengths) < len(shape):
        raise ValueError("the shape of a chunked array is not made of lengths")
    if not chunks or len(chunks) < len(entries["chunks"]):  # type: ignore[arg-type]
        raise ValueError("the chunks of a chunked array are not arrays")
    dtype = chunks[0].dtype
    if any(len(chunk.shape) != 1 or chunk.dtype != dtype for chunk in chunks):
        raise ValueError("the chunks of a chunked array are of different kinds")
    size = sum(chunk.shape[0] for chunk in chunks)
    if not is_possible_shape(tuple(lengths), dtype) or size != math.prod(lengths):
        raise ValueError(f"{size:,} values in chunks for an array of shape {tuple(lengths)}")
    return StoredArray(
        lengths, dtype, functools.partial(_read, chunks, tuple(lengths), dtype, path)
    )


def _in_order(numbered: Tree) -> list[Tree]:
    if not isinstance(numbered, Mapping) or set(numbered) != set(map(str, range(len(numbered)))):
        raise ValueError("the parts of a chunked array are not numbered")
    return [numbered[str(number)] for number in range(len(numbered))]


def _read(
    chunks: Sequence[ArrayInFile], shape: tuple[int, ...], dtype: np.dtype[Any], path: Path
) -> np.ndarray[Any, Any]:
    values = empty_bytes(path, math.prod(shape) * dtype.itemsize)
    done = 0
    for chunk in chunks:
        chunk.read_into(values[done : done + chunk.nbytes])
        done += chunk.nbytes
    return values.view(dtype).reshape(shape)


def lengths_of_chunks(size: int, itemsize: int) -> list[int]:
    """How many values each chunk has, for an array of ``size`` values."""
    longest = max(1, LARGEST_CHUNK // itemsize)
    return [min(longest, size - begin) for begin in range(0, size, longest)]

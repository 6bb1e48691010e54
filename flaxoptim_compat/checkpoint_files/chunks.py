"""Arrays of more than 2**30 bytes, which flax.serialization writes as a map of shorter arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from flaxoptim_compat.checkpoint_files.dtypes import is_possible_shape
from flaxoptim_compat.checkpoint_files.source import ArrayInFile
from flaxoptim_compat.checkpoint_files.stored import Tree

CHUNKED = "__msgpack_chunked_array__"
LARGEST_CHUNK = 2**30


def joined(entries: Mapping[str, Tree]) -> ArrayInFile:
    """The long array that a map of shorter arrays stands for.

    Raises:
      ValueError: the entries do not fit together.
    """
    shape, parts = _in_order(entries.get("shape")), _in_order(entries.get("chunks"))
    chunks = [
        part
        for part in parts
        if isinstance(part, ArrayInFile) and len(part.shape) == len(part.parts) == 1
    ]
    dtypes = {chunk.dtype for chunk in chunks}
    are_parts = len(entries) == 3 and len(chunks) == len(parts) and len(dtypes) == 1
    if not are_parts or not {*map(type, shape)} <= {int}:
        raise ValueError("a chunked array is not made of a shape and chunks of one kind")
    dtype, size = dtypes.pop(), sum(chunk.shape[0] for chunk in chunks)
    if not is_possible_shape(shape, dtype) or size != math.prod(shape):
        raise ValueError(f"{size:,} values in chunks for an array of shape {shape}")
    return ArrayInFile(chunks[0].source, [chunk.parts[0] for chunk in chunks], shape, dtype)


def _in_order(numbered: Any) -> tuple[Any, ...]:
    """The entries of a numbered map; a tuple of None for anything else."""
    try:
        return tuple(numbered[str(number)] for number in range(len(numbered)))
    except (KeyError, TypeError):
        return (None,)

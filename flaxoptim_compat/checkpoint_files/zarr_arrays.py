"""Zarr arrays in directories or in an OCDBT database, which tensorstore reads one at a time."""

from __future__ import annotations

import functools
import json
import math
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from flaxoptim_compat.checkpoint_files.dtypes import is_number, is_possible_shape
from flaxoptim_compat.checkpoint_files.ocdbt_nodes import size_of_index
from flaxoptim_compat.checkpoint_files.orbax_names import MANIFEST, is_inside
from flaxoptim_compat.checkpoint_files.plain_files import cannot_read, size_of_plain_files
from flaxoptim_compat.checkpoint_files.promised import most_accounted_for, refuse_unaccounted
from flaxoptim_compat.checkpoint_files.source import COPY_AGAIN
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray

# The names of zarr's files with values.
_PART = re.compile(rb"(c[/.]?)?[\d/.]*")


def zarr_arrays(
    directory: Path,
    names: Collection[str],
    *,
    driver: Literal["zarr", "zarr3"],
    may_lack_values: bool,
) -> dict[str, StoredArray]:
    """The stored arrays by name.

    Args:
      directory: the directory with the arrays.
      names: the names of the arrays.
      driver: tensorstore's name for their format.
      may_lack_values: whether a part without a file has zeros; otherwise such a part is missing.

    Raises:
      CheckpointError: an array is missing, damaged, or too large for its files.
    """
    import tensorstore

    for name in names:
        if not is_inside(name):
            problem = f"{directory} has an array in {name!r:.200}, outside of the directory."
            raise CheckpointError(problem + COPY_AGAIN)
    try:
        size = size_of_plain_files(directory)
    except OSError as error:
        raise cannot_read(directory, error) from error
    if (directory / MANIFEST).is_file():
        index = size_of_index(directory, size, most_accounted_for(size))
        refuse_unaccounted(directory, index, size)
    context = tensorstore.Context({"cache_pool": {"total_bytes_limit": 0}})
    opening = {
        name: tensorstore.open(
            {
                "driver": driver,
                "kvstore": _key_value_store(directory, name),
                "fill_missing_data_reads": may_lack_values,
            },
            open=True,
            read=True,
            context=context,
        )
        for name in names
    }
    arrays, taken = {}, {}
    for name, store in opening.items():
        with _errors_of(directory, name):
            arrays[name], taken[name] = _array(store.result(), directory, name, size)
    # Counted for each name, because several leaves may have the same array.
    refuse_unaccounted(directory, sum(taken[name] for name in names), size)
    return arrays


def _key_value_store(directory: Path, name: str) -> dict[str, Any]:
    """The place of an array for tensorstore: in the database, or in a folder of its own."""
    files = {"driver": "file", "path": f"{directory.absolute()}{os.sep}"}
    if (directory / MANIFEST).is_file():
        return {"driver": "ocdbt", "base": files, "path": f"{name}/"}
    return {**files, "path": f"{files['path']}{name}/"}


def _array(store: Any, directory: Path, name: str, size: int) -> tuple[StoredArray, int]:
    """An array, and the memory that reading takes: its own size, or that of one part."""
    shape, dtype = tuple(store.shape), store.dtype.numpy_dtype
    chunk = tuple(store.chunk_layout.read_chunk.shape or ())  # None without dimensions
    if not is_number(dtype):
        raise ValueError(f"its dtype is {dtype}")
    if not is_possible_shape(shape, dtype) or not is_possible_shape(chunk, dtype):
        raise ValueError(f"its shape is {shape}")
    parts = math.prod(-(-whole // max(1, part)) for whole, part in zip(shape, chunk, strict=True))
    if parts > size:
        raise ValueError(f"its shape is {shape}, in parts of {chunk}, but there are {size:,} bytes")
    taken = max(math.prod(shape), math.prod(chunk)) * dtype.itemsize
    return StoredArray(shape, dtype, functools.partial(_read, store, directory, name)), taken


def _read(store: Any, directory: Path, name: str) -> np.ndarray[Any, Any]:
    with _errors_of(directory, name):
        _refuse_swelling(store)
        return np.asarray(store.read(order="C").result())


def _refuse_swelling(store: Any) -> None:
    """Refuse compressed parts that become longer than a part of the array.

    Only blosc takes as much memory as the part says. With other compressions, tensorstore takes as
    much as the array needs.
    """
    codec = json.dumps(store.codec.to_json())
    if '"blosc"' not in codec:
        return
    if "sharding" in codec:
        raise ValueError("blosc inside shards, which no release of orbax has written")
    longest = (
        math.prod(store.chunk_layout.read_chunk.shape or ()) * store.dtype.numpy_dtype.itemsize
    )
    for key in filter(_PART.fullmatch, store.kvstore.list().result()):
        # The length before compression.
        header = store.kvstore.read(key, byte_range=slice(4, 8)).result().value
        if (length := int.from_bytes(header, "little")) > longest:
            raise ValueError(f"a part has {length:,} bytes instead of {longest:,}")


@contextmanager
def _errors_of(directory: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError, OverflowError, RuntimeError, OSError) as error:
        # The rest of the message is about places in the source of tensorstore.
        problem = str(error).split(" [source locations=")[0].split(" [tensorstore_spec=")[0]
        raise CheckpointError(
            f"{directory}: the array {name!r} cannot be read: {problem}.{COPY_AGAIN}"
        ) from error

"""Writes a directory that orbax restores, without orbax: each array is a zarr array of one part.

Orbax itself would take all arrays at once. An uncompressed zarr array of one part is a file with
its values, in C order, beside a description in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from flaxoptim_compat.atomic import file_in
from flaxoptim_compat.checkpoint_files import orbax_names
from flaxoptim_compat.checkpoint_files.leaves import pieces, values_of
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, StoredList, Tree

# The dtypes of ml_dtypes that tensorstore knows, by these names.
_NAMED = frozenset(
    [
        "bfloat16",
        "int2",
        "int4",
        "float8_e3m4",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e4m3b11fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
    ]
)
# The dtypes of numpy that tensorstore does not know.
_UNKNOWN = frozenset(["float128", "complex256"])


# The value of a leaf: a stored array, a Python number as a numpy array, a text, or None.
_Value: TypeAlias = "StoredArray | np.ndarray[Any, Any] | str | None"


def write_orbax(
    directory: Path, tree: Tree, report: Callable[[int], None], sequences: bool = True
) -> None:
    """Fill a directory with the files of orbax.

    Args:
      directory: an empty directory.
      tree: a checked tree.
      report: called with the number of bytes after each write.
      sequences: whether a mapping with numbered entries is a list or tuple.

    Raises:
      CheckpointError: orbax cannot hold the tree.
    """
    texts: dict[str, str] = {}
    arrays: dict[str, StoredArray | np.ndarray[Any, Any]] = {}
    entries: dict[str, Any] = {}
    for keys, leaf in _leaves(tree, (), sequences):
        names = tuple(name for name, _ in keys)
        # Each array has a folder of its own, inside the checkpoint.
        where, place = "/".join(names), ".".join(names)
        kind, value = _kind_and_value(leaf, where)
        if isinstance(value, str):
            texts[place] = value
        elif value is not None:
            if place in arrays or not orbax_names.is_inside(place):
                raise _cannot_hold(where, "an array with a name of that kind")
            arrays[place] = value
        entries[str(names)] = _entry(keys, kind, value)
    for place, array in arrays.items():
        _write_array(directory, place, array, report)
    if texts:
        _write_json(directory, orbax_names.STRINGS, texts)
    metadata = {
        "tree_metadata": entries,
        "use_ocdbt": False,
        "use_zarr3": False,
        "store_array_data_equal_to_fill_value": True,
        "custom_metadata": None,
    }
    _write_json(directory, orbax_names.METADATA, metadata)


def _leaves(
    tree: Tree, keys: tuple[tuple[str, int], ...], sequences: bool
) -> Iterator[tuple[tuple[tuple[str, int], ...], Tree]]:
    """The leaves, each with the names that lead to the leaf, and the type of key of each name."""
    if not isinstance(tree, Mapping) or not tree:
        yield keys, tree
        return
    # State dicts number the items of lists and tuples, which orbax records.
    numbered = sequences and set(tree) == set(map(str, range(len(tree))))
    key_type = orbax_names.IN_SEQUENCE if numbered else orbax_names.IN_MAPPING
    for name in sorted(tree, key=int) if numbered else tree:
        yield from _leaves(tree[name], (*keys, (name, key_type)), sequences)


def _kind_and_value(tree: Tree, where: str) -> tuple[str, _Value]:
    if not where:
        raise CheckpointError(
            "Nothing was written: orbax holds arrays by names, and the tree is a single value."
            " Write a mapping, or msgpack instead."
        )
    if isinstance(tree, Mapping):
        return "List" if isinstance(tree, StoredList) else "Dict", None
    if tree is None:
        return orbax_names.NONE, None
    if isinstance(tree, str):
        return orbax_names.TEXT, tree
    if isinstance(tree, StoredArray):
        if not tree.nbytes:
            raise _cannot_hold(where, f"an array of shape {tree.shape}, which has no values")
        name = tree.dtype.name
        if name in _UNKNOWN or (name in dir(ml_dtypes) and name not in _NAMED):
            raise _cannot_hold(where, f"an array of dtype {name}")
        return orbax_names.SCALAR if tree.is_scalar else orbax_names.ARRAY, tree
    if isinstance(tree, bytes):
        raise _cannot_hold(where, "bytes")
    try:
        return orbax_names.SCALAR, np.array(tree, np.result_type(type(tree)))
    except OverflowError:
        raise _cannot_hold(where, f"the integer {tree}") from None


def _cannot_hold(where: str, what: str) -> CheckpointError:
    return CheckpointError(
        f"Nothing was written: {where} is {what}. Orbax cannot hold that: write msgpack instead."
    )


def _write_array(
    directory: Path,
    place: str,
    array: StoredArray | np.ndarray[Any, Any],
    report: Callable[[int], None],
) -> None:
    dtype = array.dtype.newbyteorder("=")
    description = {
        "chunks": array.shape,
        "compressor": None,
        "dimension_separator": ".",
        "dtype": dtype.name if dtype.name in _NAMED else dtype.str,
        "fill_value": None,
        "filters": None,
        "order": "C",
        "shape": array.shape,
        "zarr_format": 2,
    }
    _write_json(directory, f"{place}/.zarray", description)
    part = ".".join("0" for _ in array.shape) or "0"
    with file_in(directory, f"{place}/{part}") as file:
        for piece in pieces(values_of(array) if isinstance(array, StoredArray) else array):
            file.write(piece)
            if isinstance(array, StoredArray):
                report(len(piece))


def _write_json(directory: Path, name: str, content: Any) -> None:
    with file_in(directory, name) as file:
        file.write(json.dumps(content).encode())


def _entry(keys: tuple[tuple[str, int], ...], kind: str, value: _Value) -> dict[str, Any]:
    described: dict[str, Any] = {
        "value_type": kind,
        "skip_deserialize": kind == orbax_names.NONE or kind in orbax_names.EMPTY,
    }
    if kind == orbax_names.ARRAY and isinstance(value, StoredArray):
        described["write_shape"] = value.shape
    return {
        "key_metadata": [{"key": name, "key_type": key_type} for name, key_type in keys],
        "value_metadata": described,
    }

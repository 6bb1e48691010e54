"""Writing a directory that orbax restores, without orbax: each array is a zarr array of one part.

Orbax itself would take all arrays at once. A zarr array of one part that is not compressed is its
values in a file, in C order, beside a description in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from flaxoptim_compat.atomic import file_in
from flaxoptim_compat.checkpoint_files import orbax_names
from flaxoptim_compat.checkpoint_files.leaves import pieces, values_of
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, StoredList, Tree

# The dtypes of ml_dtypes that tensorstore knows, by these names.
# fmt: off
_NAMED = frozenset([
    "bfloat16", "int2", "int4", "float8_e3m4", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz",
])
# fmt: on
# The dtypes of numpy that tensorstore does not know.
_UNKNOWN = frozenset(["float128", "complex256"])


class _Leaf(NamedTuple):
    """One leaf: its names, each with the type of key it is, and what orbax calls its kind.

    Its value is an array, which has been a Python number if it is one of numpy, or a text.
    """

    names: tuple[str, ...]
    key_types: tuple[int, ...]
    kind: str
    value: StoredArray | np.ndarray[Any, Any] | str | None


def write_orbax(
    directory: Path, tree: Tree, report: Callable[[int], None], sequences: bool = True
) -> None:
    """Fill an empty directory with a checked tree, as orbax does.

    ``report`` is called with the number of bytes, whenever some have been written. ``sequences``
    says whether the numbered entries of a mapping are those of a list or tuple.
    """
    leaves = list(_leaves(tree, (), (), sequences))
    places = _places(leaves)
    texts = {".".join(leaf.names): leaf.value for leaf in leaves if leaf.kind == orbax_names.TEXT}
    for place, array in places.items():
        _write_array(directory, place, array, report)
    if texts:
        _write_json(directory, orbax_names.STRINGS, texts)
    _write_json(directory, orbax_names.METADATA, _metadata(leaves))


def _leaves(
    tree: Tree, names: tuple[str, ...], key_types: tuple[int, ...], sequences: bool
) -> Iterator[_Leaf]:
    if isinstance(tree, Mapping) and tree:
        # State dicts number the items of lists and tuples, and orbax wants to know.
        numbered = sequences and set(tree) == set(map(str, range(len(tree))))
        key_type = orbax_names.IN_SEQUENCE if numbered else orbax_names.IN_MAPPING
        for name in sorted(tree, key=int) if numbered else tree:
            yield from _leaves(tree[name], (*names, name), (*key_types, key_type), sequences)
    else:
        yield _Leaf(names, key_types, *_kind_and_value(tree, "/".join(names)))


def _kind_and_value(
    tree: Tree, where: str
) -> tuple[str, StoredArray | np.ndarray[Any, Any] | str | None]:
    if not where:
        raise CheckpointError("Nothing was written: orbax holds arrays by their names.")
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


def _places(leaves: list[_Leaf]) -> dict[str, StoredArray | np.ndarray[Any, Any]]:
    """The arrays, by the folders that they go to: each has its own, inside of the checkpoint."""
    places: dict[str, StoredArray | np.ndarray[Any, Any]] = {}
    for leaf in leaves:
        if isinstance(leaf.value, (StoredArray, np.ndarray)):
            place = ".".join(leaf.names)
            if place in places or not orbax_names.is_inside(place):
                raise _cannot_hold("/".join(leaf.names), "an array with a name of that kind")
            places[place] = leaf.value
    return places


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


def _metadata(leaves: list[_Leaf]) -> dict[str, Any]:
    return {
        "tree_metadata": {str(leaf.names): _entry(leaf) for leaf in leaves},
        "use_ocdbt": False,
        "use_zarr3": False,
        "store_array_data_equal_to_fill_value": True,
        "custom_metadata": None,
    }


def _entry(leaf: _Leaf) -> dict[str, Any]:
    keys = zip(leaf.names, leaf.key_types, strict=True)
    value: dict[str, Any] = {
        "value_type": leaf.kind,
        "skip_deserialize": leaf.kind == orbax_names.NONE or leaf.kind in orbax_names.EMPTY,
    }
    if leaf.kind == orbax_names.ARRAY and isinstance(leaf.value, StoredArray):
        value["write_shape"] = leaf.value.shape
    return {
        "key_metadata": [{"key": name, "key_type": key_type} for name, key_type in keys],
        "value_metadata": value,
    }

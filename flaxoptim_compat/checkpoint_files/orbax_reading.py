"""Reads the directories of orbax, with tensorstore and without orbax itself.

The tree is in ``_METADATA``, a JSON file, or, with early versions of orbax, in ``checkpoint``, a
msgpack file. The arrays are zarr arrays, each in a directory of its own or all in an OCDBT
database. T5X's own directories, from before T5X used orbax, also have the tree in ``checkpoint``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from flaxoptim_compat.checkpoint_files import orbax_names
from flaxoptim_compat.checkpoint_files.msgpack_reading import read_msgpack
from flaxoptim_compat.checkpoint_files.plain_files import is_no_directory
from flaxoptim_compat.checkpoint_files.source import COPY_AGAIN, Source
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, Tree
from flaxoptim_compat.checkpoint_files.trees import at, nested
from flaxoptim_compat.checkpoint_files.zarr_arrays import zarr_arrays

# For a hundred thousand arrays, the file has a fourth of this size.
_LARGEST_JSON = 2**26
_PLACEHOLDER = "PLACEHOLDER://"
_TENSORSTORE_SPEC = frozenset(["driver", "kvstore", "metadata"])
_PYTHON_SCALARS = ("int64", "float64", "bool", "complex128")


class _ArrayAt(NamedTuple):
    """The place of an array in the directory.

    Args:
      place: the name of its folder or of its entries in the database.
      is_scalar: whether it was saved from a number.
    """

    place: str
    is_scalar: bool = False


# The names that lead to a leaf, and its value or the place of its array.
_Leaf: TypeAlias = "tuple[tuple[str, ...], Tree | _ArrayAt]"


@contextlib.contextmanager
def read_orbax(directory: Path) -> Iterator[Tree]:
    """The tree in a directory of orbax.

    Args:
      directory: the directory with the file ``_METADATA`` or ``checkpoint``.

    Raises:
      CheckpointError: the directory is damaged.
    """
    with contextlib.ExitStack() as stack:
        aggregate: Tree = {}
        if is_no_directory(place := directory / orbax_names.AGGREGATE):
            aggregate = read_msgpack(stack.enter_context(Source(place, inside=True)))
        metadata = _json_in(directory / orbax_names.METADATA)
        if metadata:
            leaves = list(_leaves(directory, metadata, aggregate))
        elif aggregate:
            leaves = list(_leaves_of_aggregate(aggregate, ()))
        else:
            raise CheckpointError(
                f"{directory} has arrays of orbax, but no {orbax_names.METADATA} that names them."
                + COPY_AGAIN
            )
        arrays = zarr_arrays(
            directory,
            [leaf.place for _, leaf in leaves if isinstance(leaf, _ArrayAt)],
            driver="zarr3" if metadata.get("use_zarr3") else "zarr",
            may_lack_values=not metadata.get("store_array_data_equal_to_fill_value"),
        )
        # Orbax also has empty leaves for some entries with descendants.
        parents = {names[:depth] for names, _ in leaves for depth in range(len(names))}
        entries = [
            (names, _value(leaf, arrays))
            for names, leaf in leaves
            if isinstance(leaf, _ArrayAt) or names not in parents
        ]
        yield nested(entries, directory)


def _json_in(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one if there is no such file."""
    if not is_no_directory(path):
        return {}
    with Source(path, inside=True) as source:
        if source.size > _LARGEST_JSON:
            raise _damaged(path, f"{source.size:,} bytes are more than any checkpoint has there")
        content = source.bytes_at(0, source.size)
    try:
        metadata = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(metadata, dict):
        raise _damaged(path, "the content is not a JSON object")
    return metadata


def _damaged(path: Path, problem: str) -> CheckpointError:
    return CheckpointError(f"{path} is damaged: {problem}.{COPY_AGAIN}")


def _leaves(directory: Path, metadata: dict[str, Any], aggregate: Tree) -> Iterator[_Leaf]:
    strings = _json_in(directory / orbax_names.STRINGS)
    try:
        for entry in metadata["tree_metadata"].values():
            names = tuple(str(key["key"]) for key in entry["key_metadata"])
            kind = entry["value_metadata"]["value_type"]
            if kind == orbax_names.TEXT:
                yield names, str(strings[".".join(names)])
            elif kind == orbax_names.NONE or not names:
                yield names, None
            elif kind in orbax_names.EMPTY:
                yield names, {}
            elif entry["value_metadata"].get("skip_deserialize"):
                if (value := at(aggregate, names)) is None:
                    raise KeyError(".".join(names))
                yield names, value
            else:
                yield names, _ArrayAt(".".join(names), kind == orbax_names.SCALAR)
    except (KeyError, TypeError, AttributeError) as error:
        problem = f"an entry is not as orbax writes them ({type(error).__name__}: {error})"
        raise _damaged(directory / orbax_names.METADATA, problem) from error


def _leaves_of_aggregate(tree: Tree, names: tuple[str, ...]) -> Iterator[_Leaf]:
    if (place := _place_of_array(tree)) is not None:
        yield names, _ArrayAt(place)
    elif isinstance(tree, Mapping) and tree:
        for name, child in tree.items():
            yield from _leaves_of_aggregate(child, (*names, name))
    else:
        yield names, tree


def _place_of_array(leaf: Tree) -> str | None:
    """The place of the array that an entry stands for; None for an entry that is a value."""
    if isinstance(leaf, str) and leaf.startswith(_PLACEHOLDER):
        return leaf.removeprefix(_PLACEHOLDER)
    if not isinstance(leaf, Mapping) or not _TENSORSTORE_SPEC.issubset(leaf):
        return None
    # T5X writes a specification for tensorstore; for Google's storage, the path is outside kvstore.
    storage = leaf["kvstore"]
    inner = storage.get("path") if isinstance(storage, Mapping) else None
    place = inner or leaf.get("path")
    return place.rstrip("/") if isinstance(place, str) else None


def _value(leaf: Tree | _ArrayAt, arrays: Mapping[str, StoredArray]) -> Tree:
    if not isinstance(leaf, _ArrayAt):
        return leaf
    array = arrays[leaf.place]
    if not leaf.is_scalar or array.shape:
        return array
    if array.dtype.name in _PYTHON_SCALARS:
        value: Tree = array.read().item()
        return value
    return StoredArray((), array.dtype, array.read, is_scalar=True)

"""Arrays of several processes, which flax.training.checkpoints writes beside its msgpack file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from flaxoptim_compat.checkpoint_files.stored import StoredArray, StoredList, Tree

_PLACEHOLDER = "//GDAPlaceholder:"
_DIRECTORY = "_gda"


def with_arrays_beside(tree: Tree, path: Path) -> Tree:
    """The tree, with the arrays that were written beside it.

    Args:
      tree: what the msgpack file holds, with texts in place of these arrays.
      path: the file. The arrays are in a directory of the same name with ``_gda`` at its end.

    Raises:
      CheckpointError: an array is missing or damaged.
    """
    places = list(_places(tree))
    if not places:
        return tree
    from flaxoptim_compat.checkpoint_files.zarr_arrays import zarr_arrays

    directory = path.with_name(path.name + _DIRECTORY)
    return _replaced(tree, zarr_arrays(directory, places, driver="zarr", may_lack_values=True))


def _places(tree: Tree) -> Iterator[str]:
    if isinstance(tree, Mapping):
        for child in tree.values():
            yield from _places(child)
    elif isinstance(tree, str) and tree.startswith(_PLACEHOLDER):
        yield tree.removeprefix(_PLACEHOLDER)


def _replaced(tree: Tree, arrays: Mapping[str, StoredArray]) -> Tree:
    if isinstance(tree, StoredList):
        return StoredList([_replaced(child, arrays) for child in tree.values()])
    if isinstance(tree, Mapping):
        return {name: _replaced(child, arrays) for name, child in tree.items()}
    if isinstance(tree, str) and tree.startswith(_PLACEHOLDER):
        return arrays[tree.removeprefix(_PLACEHOLDER)]
    return tree

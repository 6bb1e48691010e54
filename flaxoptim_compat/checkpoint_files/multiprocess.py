"""Arrays of several processes, which flax.training.checkpoints writes beside its msgpack file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flaxoptim_compat.checkpoint_files.stored import Tree
from flaxoptim_compat.checkpoint_files.trees import leaves_of, mapped

_PLACEHOLDER = "//GDAPlaceholder:"
_DIRECTORY = "_gda"


def with_arrays_beside(tree: Tree, path: Path) -> Tree:
    """The tree with the arrays that were written beside its file.

    Args:
      tree: the contents of the msgpack file, with texts in place of these arrays.
      path: the file. The arrays are in a directory of the same name with ``_gda`` at its end.

    Raises:
      CheckpointError: an array is missing or damaged.
    """
    places = [_place(leaf) for _, leaf in leaves_of(tree) if _place(leaf)]
    if not places:
        return tree
    from flaxoptim_compat.checkpoint_files.zarr_arrays import zarr_arrays

    directory = path.with_name(path.name + _DIRECTORY)
    arrays = zarr_arrays(directory, places, driver="zarr", may_lack_values=True)
    whole: Tree = mapped(tree, lambda _, leaf: arrays[place] if (place := _place(leaf)) else leaf)
    return whole


def _place(leaf: Any) -> str:
    """The place of the array that a text stands for; "" for any other leaf."""
    is_placeholder = isinstance(leaf, str) and leaf.startswith(_PLACEHOLDER)
    return leaf.removeprefix(_PLACEHOLDER) if is_placeholder else ""

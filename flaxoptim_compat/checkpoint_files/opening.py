"""Opens the checkpoint at a path: a file, an orbax directory or a directory of checkpoints."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from flaxoptim_compat.checkpoint_files.flax_directory import StepCheckpoint, is_step, steps_in
from flaxoptim_compat.checkpoint_files.plain_files import cannot_read, is_no_directory
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, Tree
from flaxoptim_compat.checkpoint_files.trees import leaves_of, mapped

Format = Literal["msgpack", "npz", "orbax"]
_ORBAX_FILES = ("_METADATA", "checkpoint", "manifest.ocdbt")
# The names of the state among several items, in orbax's CheckpointManager and in programs with it.
_ORBAX_ITEMS = ("default", "state", "train_state")
_ZIP = b"PK"
# What flax.training.checkpoints writes in place of an array of several processes.
_PLACEHOLDER = "//GDAPlaceholder:"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """An open checkpoint.

    Args:
      path: the file or orbax directory that is really read.
      format: the format of the file or directory.
      tree: its contents.
      directory_of_steps: if a directory of checkpoints was opened, all its checkpoints, oldest
        first.
    """

    path: Path
    format: Format
    tree: Tree
    directory_of_steps: tuple[StepCheckpoint, ...] = ()


@contextlib.contextmanager
def open_checkpoint(path: str | os.PathLike[str]) -> Iterator[Checkpoint]:
    """Open the checkpoint at ``path``, or the newest checkpoint in a directory.

    Arrays can be read until the block ends. An array is in memory only after it is read.

    Args:
      path: a msgpack or npz file, an orbax directory, or a directory of checkpoints.

    Raises:
      CheckpointError: there is no checkpoint, or the checkpoint is damaged.
    """
    try:
        file, steps = _file_and_steps(Path(path))
    except OSError as error:
        raise cannot_read(path, error) from error
    with contextlib.ExitStack() as stack:
        format_, tree = _opened(file, stack)
        yield Checkpoint(file, format_, tree, steps)


def _file_and_steps(path: Path) -> tuple[Path, tuple[StepCheckpoint, ...]]:
    """The file or directory to read, and all checkpoints of a directory if it is the newest."""
    if not path.is_dir():
        return path, ()
    if (directory := _orbax_directory(path)) is not None:
        return directory, ()
    steps = steps_in(path)
    if not steps:
        raise _no_checkpoint(path)
    newest = steps[-1].path
    if not newest.is_dir():
        return newest, steps
    if (directory := _orbax_directory(newest)) is None:
        raise _no_checkpoint(newest)
    return directory, steps


def is_orbax_checkpoint(path: Path) -> bool:
    """True for a directory that is one checkpoint of orbax, and not a folder of several.

    Raises:
      OSError: the directory cannot be read.
    """
    return path.is_dir() and _orbax_directory(path) is not None


def _orbax_directory(path: Path) -> Path | None:
    """The directory with orbax's files: this directory, or the item in it that holds arrays."""
    if _is_orbax(path):
        return path
    items = {
        entry.name: entry
        for entry in sorted(path.iterdir())
        if entry.is_dir() and _is_orbax(entry) and not is_step(entry.name)
    }
    for name in _ORBAX_ITEMS if len(items) > 1 else items:
        if name in items:
            return items[name]
    return None


def _opened(path: Path, stack: contextlib.ExitStack) -> tuple[Format, Tree]:
    if path.is_dir():
        from flaxoptim_compat.checkpoint_files.orbax_reading import read_orbax

        return "orbax", stack.enter_context(read_orbax(path))
    if not path.exists():
        raise CheckpointError(f"There is no {path}. Name a checkpoint, or a directory of them.")
    if not path.is_file():
        raise CheckpointError(
            f"{path} is a pipe or a device, and neither a file nor a directory. Save the data to a"
            " file first."
        )
    from flaxoptim_compat.checkpoint_files.source import Source

    source = stack.enter_context(Source(path))
    if source.bytes_at(0, len(_ZIP)) == _ZIP:
        from flaxoptim_compat.checkpoint_files.npz import open_npz

        return "npz", stack.enter_context(open_npz(path))
    from flaxoptim_compat.checkpoint_files.msgpack_reading import read_msgpack

    return "msgpack", _with_arrays_beside(read_msgpack(source), path)


def _with_arrays_beside(tree: Tree, path: Path) -> Tree:
    """The tree with the arrays of several processes, which are in a directory beside its file."""
    places = [_place(leaf) for _, leaf in leaves_of(tree) if _place(leaf)]
    if not places:
        return tree
    from flaxoptim_compat.checkpoint_files.zarr_arrays import zarr_arrays

    directory = path.with_name(f"{path.name}_gda")
    arrays = zarr_arrays(directory, places, driver="zarr", may_lack_values=True)
    whole: Tree = mapped(tree, lambda _, leaf: arrays[place] if (place := _place(leaf)) else leaf)
    return whole


def _place(leaf: Any) -> str:
    """The place of the array that a text stands for; "" for any other leaf."""
    is_placeholder = isinstance(leaf, str) and leaf.startswith(_PLACEHOLDER)
    return leaf.removeprefix(_PLACEHOLDER) if is_placeholder else ""


def _is_orbax(directory: Path) -> bool:
    return any(is_no_directory(directory / name) for name in _ORBAX_FILES)


def _no_checkpoint(directory: Path) -> CheckpointError:
    names = sorted(entry.name for entry in directory.iterdir())
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    return CheckpointError(
        f"{directory} is no orbax checkpoint and has no entries named checkpoint_1 or 1, but"
        f" {shown or 'no entries at all'}. If one of these is a checkpoint, give its path."
    )

"""Opening whatever a path leads to: a file, an orbax directory or a directory of checkpoints."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from flaxoptim_compat.checkpoint_files.flax_directory import Step, is_step, steps_in
from flaxoptim_compat.checkpoint_files.plain_files import is_no_directory
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, Tree

Format = Literal["msgpack", "npz", "orbax"]
_ORBAX_FILES = ("_METADATA", "checkpoint", "manifest.ocdbt")
# How orbax's CheckpointManager, and programs with it, call the one of several items.
_ORBAX_ITEMS = ("default", "state", "train_state")
_ZIP = b"PK"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """An open checkpoint.

    Args:
      path: the file or orbax directory that is really read.
      format: how it is written.
      tree: what it holds.
      directory_of_steps: if a directory of checkpoints was opened, all of them, oldest first.
    """

    path: Path
    format: Format
    tree: Tree
    directory_of_steps: tuple[Step, ...] = ()


@contextlib.contextmanager
def open_checkpoint(path: str | os.PathLike[str]) -> Iterator[Checkpoint]:
    """Open the checkpoint at ``path``; of several in a directory, the newest.

    Its arrays can be read until the block ends. None of them is in memory before.

    Args:
      path: a msgpack or npz file, an orbax directory, or a directory of checkpoints.

    Raises:
      CheckpointError: there is no checkpoint, or it is damaged.
    """
    try:
        found, steps = _found(Path(path))
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    with contextlib.ExitStack() as stack:
        format_, tree = _opened(found, stack)
        yield Checkpoint(found, format_, tree, steps)


def _found(path: Path) -> tuple[Path, tuple[Step, ...]]:
    """The file or directory to read, and the checkpoints of which it is the newest."""
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


def _orbax_directory(path: Path) -> Path | None:
    """The directory with orbax's files: this one, or the one item in it that holds arrays."""
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
            f"{path} is a pipe or a device, and neither a file nor a directory. Save what comes out"
            " of it to a file first."
        )
    from flaxoptim_compat.checkpoint_files.source import Source

    source = stack.enter_context(Source(path))
    if source.bytes_at(0, len(_ZIP)) == _ZIP:
        from flaxoptim_compat.checkpoint_files.npz import open_npz

        return "npz", stack.enter_context(open_npz(path))
    from flaxoptim_compat.checkpoint_files.msgpack_reading import read_msgpack
    from flaxoptim_compat.checkpoint_files.multiprocess import with_arrays_beside

    return "msgpack", with_arrays_beside(read_msgpack(source), path)


def _is_orbax(directory: Path) -> bool:
    return any(is_no_directory(directory / name) for name in _ORBAX_FILES)


def _no_checkpoint(directory: Path) -> CheckpointError:
    names = sorted(entry.name for entry in directory.iterdir())
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    return CheckpointError(
        f"{directory} is no orbax checkpoint and has no entries named checkpoint_1 or 1 in it, but"
        f" {shown or 'nothing'}. If one of these is a checkpoint, name that one."
    )

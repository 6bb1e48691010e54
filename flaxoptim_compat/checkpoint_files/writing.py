"""Writes a checkpoint, which appears whole or not at all."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from flaxoptim_compat.atomic import appearing_directory, appearing_file
from flaxoptim_compat.checkpoint_files.stored import CheckpointError


def write_checkpoint(
    path: str | os.PathLike[str],
    tree: Mapping[str, Any] | Any,
    format: Literal["msgpack", "orbax"],  # noqa: A002
    progress: Callable[[int, int], None] | None = None,
    sequences: bool = True,
) -> None:
    """Write ``tree`` to ``path``, which must not exist yet.

    One stored array is in memory at a time. Until the end, the file or directory is beside ``path``
    with the name ``unfinished-NAME-XXXXXXXX``, and stays there if the program is killed.

    Args:
      path: the new msgpack file or orbax directory.
      tree: nested mappings with stored arrays, numpy arrays, Python scalars, texts and None.
      format: the format of the checkpoint.
      progress: called with the bytes of arrays written so far and the total, after each write.
      sequences: whether orbax takes mappings with numbered entries as lists or tuples, which state
        dicts number.

    Raises:
      CheckpointError: ``path`` exists or cannot be written, the format cannot hold the tree, or the
        file of an array is damaged.
      ValueError: there is no such format.
    """
    if format not in ("msgpack", "orbax"):
        raise ValueError(f"Checkpoints are written as 'msgpack' or 'orbax', not as {format!r}")
    from flaxoptim_compat.checkpoint_files import leaves
    from flaxoptim_compat.checkpoint_files.trees import size_of

    path = Path(path)
    refuse = functools.partial(refuse_existing, path)
    # Refused here too, because reading the arrays takes long.
    refuse()
    checked = leaves.checked(tree)
    done, total = 0, size_of(checked)

    def report(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, total)

    report(0)
    try:
        if format == "orbax":
            from flaxoptim_compat.checkpoint_files.orbax_writing import write_orbax

            with appearing_directory(path, refuse) as directory:
                write_orbax(directory, checked, report, sequences)
        else:
            from flaxoptim_compat.checkpoint_files.msgpack_writing import msgpack_pieces

            with appearing_file(path, refuse) as file:
                for piece in msgpack_pieces(checked):
                    file.write(piece)
                    if isinstance(piece, memoryview):
                        report(len(piece))
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be written: {error.strerror or error}. The unfinished part has been"
            " removed."
        ) from error


def refuse_existing(path: Path) -> None:
    """Raise unless a path is free, in a directory that is there.

    Raises:
      CheckpointError: it is not.
    """
    if os.path.lexists(path):
        raise CheckpointError(
            f"{path} exists already. Give another path, or move the old checkpoint away first."
        )
    if not os.path.isdir(path.parent):
        raise CheckpointError(f"There is no directory {path.parent}. Make it first.")

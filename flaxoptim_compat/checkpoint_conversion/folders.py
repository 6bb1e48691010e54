"""Where converted checkpoints go, so that a program which looks in a folder finds them there."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.atomic import appearing_directory
from flaxoptim_compat.checkpoint_files.flax_directory import is_step, steps_in
from flaxoptim_compat.checkpoint_files.opening import is_orbax_checkpoint
from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.checkpoint_files.writing import refuse_existing


class Conversion(NamedTuple):
    """A checkpoint, and where its conversion goes.

    Args:
      source: the checkpoint.
      destination: the path to write.
      shown: the path where the conversion is in the end.
      of: how many checkpoints the folder of the source has, if it is the newest of them; or 0.
    """

    source: Path
    destination: Path
    shown: Path
    of: int = 0


@contextlib.contextmanager
def conversions(source: Path, destination: Path, takes_all: bool) -> Iterator[list[Conversion]]:
    """What to convert, and where to: a folder gives a folder, with the same names in it.

    A new folder appears with all that was written into it when the block ends.

    Args:
      source: a checkpoint, or a folder of checkpoints.
      destination: the path for the checkpoint, an existing folder for it, or a folder for folders.
      takes_all: whether all checkpoints of a folder are taken, and not only the newest.

    Raises:
      CheckpointError: the destination is the folder itself, or is there and cannot be written to.
    """
    try:
        steps = steps_in(source) if source.is_dir() and not is_orbax_checkpoint(source) else ()
    except OSError as error:
        raise CheckpointError(f"{source} cannot be read: {error.strerror or error}.") from error
    if takes_all and not steps:
        raise CheckpointError(f"--all is for a folder of checkpoints, and {source} is none.")
    home = source if steps else source.parent
    if os.path.isdir(destination) and os.path.samefile(destination, home):
        raise CheckpointError(
            f"{destination} is the folder of the old checkpoints, which stay as they are. Give"
            f" another folder, such as {destination.resolve().name}_converted, and start the new"
            " program with that one."
        )
    if not steps:
        is_folder = os.path.isdir(destination) and not is_orbax_checkpoint(destination)
        place = destination / source.name if is_folder else destination
        yield [Conversion(source, place, place)]
        return
    taken = [each.path for each in (steps if takes_all else steps[-1:])]
    of = 0 if takes_all else len(steps)
    is_checkpoint = destination.suffix == ".msgpack" or is_step(destination.name)
    if is_checkpoint and not takes_all:
        yield [Conversion(taken[0], destination, destination, of)]
    elif os.path.isdir(destination) and not takes_all:
        place = destination / taken[0].name
        yield [Conversion(taken[0], place, place, of)]
    else:
        with _new_folder(destination) as folder:
            yield [
                Conversion(each, folder / each.name, destination / each.name, of) for each in taken
            ]


@contextlib.contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    try:
        with appearing_directory(path, functools.partial(refuse_existing, path)) as folder:
            yield folder
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error.strerror or error}.") from error

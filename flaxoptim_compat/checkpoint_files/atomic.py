"""Files and directories that appear whole or not at all.

They are written beside their destination as ``unfinished-NAME-XXXXXXXX``, with eight random
hexadecimal digits, brought to the disk, and renamed. A program that is killed leaves at most such a
file or directory, which nothing reads and which can be deleted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from flaxoptim_compat.checkpoint_files.stored import CheckpointError


@contextlib.contextmanager
def appearing_file(path: Path) -> Iterator[BinaryIO]:
    """A new file to write into, which is at ``path`` once the block has ended without an error.

    Raises:
      CheckpointError: ``path`` exists, or cannot be written.
    """
    with _errors_of(path), _renamed(path) as unfinished, unfinished.open("xb") as file:
        yield file
        _to_disk(file)


@contextlib.contextmanager
def appearing_directory(path: Path) -> Iterator[Path]:
    """A new directory to fill, which is at ``path`` once the block has ended without an error.

    Write the files in it with ``file_in``.

    Raises:
      CheckpointError: ``path`` exists, or cannot be written.
    """
    with _errors_of(path), _renamed(path) as unfinished:
        unfinished.mkdir()
        yield unfinished
        for folder, _, _ in os.walk(unfinished):
            _directory_to_disk(Path(folder))


@contextlib.contextmanager
def file_in(directory: Path, name: str) -> Iterator[BinaryIO]:
    """A new file in a directory that is to appear."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        yield file
        _to_disk(file)


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be written: {error.strerror or error}. What was written of it has been"
            " removed."
        ) from error


@contextlib.contextmanager
def _renamed(path: Path) -> Iterator[Path]:
    """A name beside ``path``; what the block puts there is renamed, or removed after an error."""
    refuse_existing(path)
    unfinished = path.with_name(f"unfinished-{path.name}-{secrets.token_hex(4)}")
    try:
        yield unfinished
        # Renaming would replace what another program has put there meanwhile.
        refuse_existing(path)
        unfinished.rename(path)
    except BaseException:
        if unfinished.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
        else:
            unfinished.unlink(missing_ok=True)
        raise
    _directory_to_disk(path.parent)


def refuse_existing(path: Path) -> None:
    """See that there is a place for a new file or directory.

    Raises:
      CheckpointError: something is there already, or there is no such directory.
    """
    if os.path.lexists(path):
        raise CheckpointError(f"{path} exists already. Name another one, or move it away first.")
    if not os.path.isdir(path.parent):
        raise CheckpointError(f"There is no directory {path.parent}. Make it first.")


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _directory_to_disk(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems have nothing to bring to the disk here.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)

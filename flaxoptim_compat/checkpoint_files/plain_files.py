"""Plain files, and nothing else: a link could lead out of a checkpoint, and a pipe never ends."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from flaxoptim_compat.checkpoint_files.stored import CheckpointError


def is_no_directory(path: Path) -> bool:
    """True if something that is no directory is there, to be opened as a file, be it one or not."""
    return os.path.lexists(path) and not path.is_dir()


def open_plain(path: Path, *, inside: bool = False) -> BufferedReader:
    """The open file.

    Args:
      path: where it is.
      inside: whether it is a part of a directory, and must not be a link.

    Raises:
      CheckpointError: it is no plain file.
      OSError: it cannot be opened.
    """
    # Without a writer, a pipe would never open. Windows has neither flag.
    flags = getattr(os, "O_NONBLOCK", 0)
    if inside:
        refuse_special(path, path.lstat().st_mode)
        flags |= getattr(os, "O_NOFOLLOW", 0)
    file = open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags))  # noqa: SIM115
    try:
        refuse_special(path, os.fstat(file.fileno()).st_mode)
    except CheckpointError:
        file.close()
        raise
    return file


def size_of_plain_files(directory: Path) -> int:
    """How many bytes the files have that are in a directory, and in those below it.

    Raises:
      CheckpointError: something there is neither a directory nor a plain file.
      OSError: it cannot be read.
    """
    size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                size += size_of_plain_files(Path(entry.path))
            else:
                found = entry.stat(follow_symlinks=False)
                refuse_special(Path(entry.path), found.st_mode)
                size += found.st_size
    return size


def refuse_special(path: Path, mode: int) -> None:
    """Refuse what is no plain file.

    Args:
      path: what is to be read.
      mode: as ``lstat`` gives it, or ``fstat``.

    Raises:
      CheckpointError: it is none.
    """
    if stat.S_ISLNK(mode):
        raise CheckpointError(
            f"{path} is a symbolic link, and a checkpoint may hold plain files only. If you trust"
            " it, make a copy with the files themselves, such as by cp -rL, and name that."
        )
    if not stat.S_ISREG(mode):
        raise CheckpointError(
            f"{path} is {'a directory' if stat.S_ISDIR(mode) else 'a pipe, a device or a socket'},"
            " and a checkpoint may hold plain files only. Name one that was not tampered with."
        )

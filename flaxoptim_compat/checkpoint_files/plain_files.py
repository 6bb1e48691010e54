"""Opens plain files only: a link could lead out of a checkpoint, and a pipe could never end."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from flaxoptim_compat.checkpoint_files.stored import CheckpointError


def is_no_directory(path: Path) -> bool:
    """True if there is a file, or anything else but a directory, to be opened as a file."""
    return os.path.lexists(path) and not path.is_dir()


def open_plain(path: Path, *, inside: bool = False) -> BufferedReader:
    """The open file.

    Args:
      path: the path of the file.
      inside: whether the file is part of a directory, and must not be a link.

    Raises:
      CheckpointError: the path leads to no plain file.
      OSError: the file cannot be opened.
    """
    # Without O_NONBLOCK, a pipe without a writer would never open. Windows has neither flag.
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
    """The total size of the files in a directory and below.

    Raises:
      CheckpointError: an entry is neither a directory nor a plain file.
      OSError: the directory cannot be read.
    """
    size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                size += size_of_plain_files(Path(entry.path))
            else:
                status = entry.stat(follow_symlinks=False)
                refuse_special(Path(entry.path), status.st_mode)
                size += status.st_size
    return size


def refuse_special(path: Path, mode: int) -> None:
    """Refuse a path that leads to no plain file.

    Args:
      path: the path, for messages.
      mode: the mode from ``lstat`` or ``fstat``.

    Raises:
      CheckpointError: the mode is not that of a plain file.
    """
    if stat.S_ISLNK(mode):
        raise CheckpointError(
            f"{path} is a symbolic link, and a checkpoint may hold plain files only. If you trust"
            " the link, make a copy with the files themselves, such as by `cp -rL`, and give its"
            " path."
        )
    if not stat.S_ISREG(mode):
        raise CheckpointError(
            f"{path} is {'a directory' if stat.S_ISDIR(mode) else 'a pipe, a device or a socket'},"
            " and a checkpoint may hold plain files only. Use another copy of the checkpoint."
        )


def cannot_read(path: str | os.PathLike[str], error: OSError) -> CheckpointError:
    """The CheckpointError for an OSError."""
    return CheckpointError(f"{path} cannot be read: {error.strerror or error}.")

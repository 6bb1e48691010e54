"""The replacement of a file, which at any moment is the old one or the new one.

A killed run leaves at most one unfinished file; see ``atomic``. The next run reports this file, or
removes it if the run writes files itself.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from flaxoptim_compat.atomic import appearing_file


class Replacement(NamedTuple):
    """A file that is to be replaced.

    Args:
      path: the path of the file.
      old: the old content.
      new: the new content.
    """

    path: Path
    old: bytes
    new: bytes


class NotWritten(Exception):
    """The file could not be replaced and is as it was; the message says why."""


def replace(change: Replacement, mtime_ns: int | None = None) -> None:
    """Replace a file; its mode and its owner stay.

    Args:
      change: the file, with the old and the new content.
      mtime_ns: the time of its last change; now, if None.

    Raises:
      NotWritten: the file has changed since it was read, or cannot be written.
    """
    path = change.path
    try:
        status = path.lstat()
        # Nobody who may not read the old file can read the new one meanwhile.
        with appearing_file(path, lambda: _refuse_changed(change), mode=0o600) as file:
            file.write(change.new)
            file.flush()
            _take_over(file, status)
            if mtime_ns is not None:
                os.utime(file.name, ns=(mtime_ns, mtime_ns))
    except OSError as error:
        raise NotWritten(error.strerror or str(error)) from error


def remove_unfinished(paths: Iterable[Path]) -> list[Path]:
    """Remove unfinished files of killed runs; returns those that could be removed."""
    removed = []
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
            removed.append(path)
    return removed


def _refuse_changed(change: Replacement) -> None:
    if not stat.S_ISREG(change.path.lstat().st_mode):
        raise NotWritten("the path is a link now, or no file")
    if change.path.read_bytes() != change.old:
        raise NotWritten("the file has changed since it was read")


def _take_over(file: BinaryIO, status: os.stat_result) -> None:
    """Give a new file the owner and the mode of the old one."""
    descriptor = file.fileno()
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    # After the owner, as a change of that takes bits away.
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))

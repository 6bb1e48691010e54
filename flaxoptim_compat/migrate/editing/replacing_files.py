"""Replacing a file, which at any moment is the old one or the new one.

A run that is killed leaves at most one unfinished file; see ``atomic``. The next run says so, or
removes it if it writes itself.
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
      path: where it is.
      old: what is in it.
      new: what is to be in it.
    """

    path: Path
    old: bytes
    new: bytes


class NotWritten(Exception):
    """A file that is as it was; the message says why."""


def replace(change: Replacement, mtime_ns: int | None = None) -> None:
    """Replace a file; its mode and its owner stay.

    Args:
      change: the file, and what is to be in it.
      mtime_ns: when it was changed last; now, if None.

    Raises:
      NotWritten: it is another one than it was when it was read, or it cannot be written.
    """
    path = change.path
    try:
        status = path.lstat()
        # Nobody reads it meanwhile who may not read the old one.
        with appearing_file(path, lambda: _refuse_changed(change), mode=0o600) as file:
            file.write(change.new)
            file.flush()
            _take_over(file, status)
            if mtime_ns is not None:
                os.utime(file.name, ns=(mtime_ns, mtime_ns))
    except OSError as error:
        raise NotWritten(error.strerror or str(error)) from error


def remove_unfinished(paths: Iterable[Path]) -> list[Path]:
    """Remove what killed runs have left behind; returns what is gone."""
    removed = []
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
            removed.append(path)
    return removed


def _refuse_changed(change: Replacement) -> None:
    if not stat.S_ISREG(change.path.lstat().st_mode):
        raise NotWritten("it is a link or no file any more")
    if change.path.read_bytes() != change.old:
        raise NotWritten("it has changed since it was read")


def _take_over(file: BinaryIO, status: os.stat_result) -> None:
    """Give a file the owner and the mode of another one."""
    descriptor = file.fileno()
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    # After the owner, as a change of that takes bits away.
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))

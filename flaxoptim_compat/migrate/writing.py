"""Replacing files, each of which is the old one or the new one at any moment.

The new content is written beside the file as ``unfinished-NAME-XXXXXXXX``, with eight random
hexadecimal digits, brought to the disk, and renamed. A run that is killed leaves at most one such
file. The next run says so, or removes it if it writes itself.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Change(NamedTuple):
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


def replace(change: Change, mtime_ns: int | None = None) -> None:
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
        if not stat.S_ISREG(status.st_mode):
            raise NotWritten("it is a link or no file any more")
        _refuse_changed(change)
        unfinished = path.with_name(f"unfinished-{path.name}-{secrets.token_hex(4)}")
        try:
            _write(unfinished, change.new, status)
            if mtime_ns is not None:
                os.utime(unfinished, ns=(mtime_ns, mtime_ns))
            # Renaming would replace what an editor has saved meanwhile.
            _refuse_changed(change)
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        _directory_to_disk(path.parent)
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


def _refuse_changed(change: Change) -> None:
    if change.path.read_bytes() != change.old:
        raise NotWritten("it has changed since it was read")


def _write(path: Path, content: bytes, status: os.stat_result) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        mine = os.fstat(descriptor)
        if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        # After the owner, as a change of that takes bits away.
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        file.flush()
        os.fsync(descriptor)


def _directory_to_disk(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        # Some network file systems have nothing to bring to the disk here.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Files and directories that appear whole or not at all.

A file is written beside its final path with the name ``unfinished-NAME-XXXXXXXX``, which ends in
eight random hexadecimal digits. Then the file is brought to the disk, and renamed. A killed program
leaves at most such an unfinished file or directory. No code reads it, and ``remove_left_of``
deletes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def appearing_file(
    path: Path, check: Callable[[], None] = lambda: None, mode: int = 0o666
) -> Iterator[BinaryIO]:
    """A new file to write into, which appears at ``path`` after the block ends without an error.

    Args:
      path: the path of the file; an existing file is replaced.
      check: raises an error if ``path`` must not be written. The function is called before the
        block and again after everything is written, because another program may have written the
        path.
      mode: the mode of the file while it is written, limited by the umask.

    Raises:
      OSError: the file cannot be written.
    """
    with _renamed(path, check) as temporary, _on_disk(temporary, mode) as file:
        yield file


@contextlib.contextmanager
def appearing_directory(path: Path, check: Callable[[], None]) -> Iterator[Path]:
    """A new directory to fill, which appears at ``path`` after the block ends without an error.

    Write the files in the directory with ``file_in``.

    Args:
      path: the path of the directory.
      check: as for ``appearing_file``.

    Raises:
      OSError: the directory cannot be written.
    """
    with _renamed(path, check) as directory:
        directory.mkdir()
        yield directory
        for folder, _, _ in os.walk(directory):
            directory_to_disk(folder)


@contextlib.contextmanager
def file_in(directory: Path, name: str | Path) -> Iterator[BinaryIO]:
    """A new file in the directory of ``appearing_directory``."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with _on_disk(path) as file:
        yield file


@contextlib.contextmanager
def _renamed(path: Path, check: Callable[[], None]) -> Iterator[Path]:
    """A path beside ``path``; the file there is renamed after the block, or removed on an error."""
    check()
    temporary = path.with_name(f"unfinished-{path.name}-{os.urandom(4).hex()}")
    try:
        yield temporary
        check()
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    # The file exists now, so an error here must not say that writing failed.
    with contextlib.suppress(OSError):
        directory_to_disk(path.parent)


def unfinished(name: str) -> re.Pattern[str]:
    """The pattern of unfinished names for a file; ``name`` is a pattern itself."""
    return re.compile(rf"unfinished-(?:{name})-[0-9a-f]{{8}}")


def remove_left_of(*paths: Path) -> None:
    """Remove the unfinished files that killed writers of paths left beside them, where possible."""
    names: dict[Path, set[str]] = {}
    for path in paths:
        names.setdefault(path.parent, set()).add(path.name)
    pattern = unfinished("(.+)")
    for folder, wanted in names.items():
        with contextlib.suppress(OSError):
            for match in filter(None, map(pattern.fullmatch, os.listdir(folder))):
                if match[1] in wanted:
                    _remove(folder / match[0])


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


@contextlib.contextmanager
def _on_disk(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def directory_to_disk(directory: str | Path) -> None:
    """Bring the names in a directory to the disk."""
    if os.name == "nt":  # Windows cannot open directories
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems do not support this for directories.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)

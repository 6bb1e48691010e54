"""Files and directories that appear whole or not at all.

They are written beside their place as ``unfinished-NAME-XXXXXXXX``, with eight random hexadecimal
digits, brought to the disk, and renamed. A program that is killed leaves at most such a file or
directory, which nothing reads and which can be deleted: ``remove_left_of`` does.
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
    """A new file to write into, which is at ``path`` once the block has ended without an error.

    Args:
      path: where it is to be; a file that is there is replaced.
      check: raises an error if nothing must be written there. It is asked before the block, and
        again when all is written, as another program may have come to that place meanwhile.
      mode: of the file while it is written, without what the umask forbids.

    Raises:
      OSError: it cannot be written.
    """
    with _renamed(path, check) as temporary, _on_disk(temporary, mode) as file:
        yield file


@contextlib.contextmanager
def appearing_directory(path: Path, check: Callable[[], None]) -> Iterator[Path]:
    """A new directory to fill, which is at ``path`` once the block has ended without an error.

    Write the files in it with ``file_in``.

    Args:
      path: where it is to be.
      check: as for ``appearing_file``.

    Raises:
      OSError: it cannot be written.
    """
    with _renamed(path, check) as directory:
        directory.mkdir()
        yield directory
        for folder, _, _ in os.walk(directory):
            directory_to_disk(folder)


@contextlib.contextmanager
def file_in(directory: Path, name: str | Path) -> Iterator[BinaryIO]:
    """A new file in a directory that is to appear."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with _on_disk(path) as file:
        yield file


@contextlib.contextmanager
def _renamed(path: Path, check: Callable[[], None]) -> Iterator[Path]:
    """A name beside ``path``; what the block puts there is renamed, or removed after an error."""
    check()
    temporary = path.with_name(f"unfinished-{path.name}-{os.urandom(4).hex()}")
    try:
        yield temporary
        check()
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    # The file is there, and no error may say that it is not.
    with contextlib.suppress(OSError):
        directory_to_disk(path.parent)


def unfinished(name: str) -> re.Pattern[str]:
    """Matches what such files are called until they are renamed; ``name`` is a pattern itself."""
    return re.compile(rf"unfinished-(?:{name})-[0-9a-f]{{8}}")


def remove_left_of(path: Path) -> None:
    """Remove what writers of ``path`` that were killed have left beside it, as far as one may."""
    with contextlib.suppress(OSError):
        for name in filter(unfinished(re.escape(path.name)).fullmatch, os.listdir(path.parent)):
            _remove(path.parent / name)


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
    if os.name == "nt":  # Windows opens no directories.
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems have nothing to bring to the disk here.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)

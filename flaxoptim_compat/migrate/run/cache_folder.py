"""The folder of the cache: one file for all runs that would find the same in equal files.

Nothing depends on it. A file in it that is damaged, is someone else's or cannot be read counts as
none, and one that cannot be written is not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from flaxoptim_compat.atomic import appearing_file

NAME = ".flaxoptim_compat_cache"
# Runs with other settings, of other versions.
_MOST_FILES = 20
_FILE = re.compile(r"(unfinished-)?[0-9a-f]{32}\.json(?(1)-[0-9a-f]{8})")
_SECONDS_TO_WRITE = 3600
_SIGNS = {
    # See https://bford.info/cachedir/
    "CACHEDIR.TAG": b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This folder is a cache of flaxoptim-compat; it may be deleted.\n",
    ".gitignore": b"*\n",
}


def read(folder: Path, name: str) -> dict[str, object]:
    """What is kept for a kind of run; nothing if there is nothing to be relied on.

    Args:
      folder: the cache.
      name: of that kind.
    """
    path = folder / f"{name}.json"
    try:
        if not _is_mine(folder, stat.S_ISDIR) or not _is_mine(path, stat.S_ISREG):
            return {}
        head, _, body = path.read_bytes().partition(b"\n")
        if json.loads(head) != _head(body):
            return {}
        entries = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def write(folder: Path, name: str, entries: Mapping[str, object]) -> None:
    """Keep something for a kind of run, if that can be.

    Args:
      folder: the cache; it is made if there is none.
      name: of that kind.
      entries: values of JSON.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(exist_ok=True)
        if not _is_mine(folder, stat.S_ISDIR):
            return
        for sign, content in _SIGNS.items():
            if not os.path.lexists(folder / sign):
                _put(folder / sign, content)
        body = json.dumps(entries, separators=(",", ":")).encode()
        _put(folder / f"{name}.json", json.dumps(_head(body)).encode() + b"\n" + body)
        _remove_old(folder)


def _head(body: bytes) -> dict[str, str]:
    return {"checksum": hashlib.blake2b(body, digest_size=16).hexdigest()}


def _put(path: Path, content: bytes) -> None:
    with appearing_file(path) as file:
        file.write(content)


def _is_mine(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is what it should be, no link to it, and of the user of this process."""
    status = os.lstat(path)
    # Windows has no numbers for users.
    user = os.getuid() if hasattr(os, "getuid") else status.st_uid
    return is_kind(status.st_mode) and status.st_uid == user


def _remove_old(folder: Path) -> None:
    """Remove the results of runs that were long ago, and what killed ones were writing."""
    found = [each for each in os.scandir(folder) if _FILE.fullmatch(each.name)]
    found.sort(key=lambda each: each.stat(follow_symlinks=False).st_mtime, reverse=True)
    whole = [each for each in found if not each.name.startswith("unfinished")]
    for each in found:
        age = time.time() - each.stat(follow_symlinks=False).st_mtime
        if each not in whole[:_MOST_FILES] and (each in whole or age > _SECONDS_TO_WRITE):
            os.unlink(each)

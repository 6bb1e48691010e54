"""Converts the checkpoints of an old program in a copy, by the commands that people are told."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from flaxoptim_compat.checkpoint_contents.recognise import find_optimizers
from flaxoptim_compat.checkpoint_files.opening import open_checkpoint
from flaxoptim_compat.checkpoint_files.stored import CheckpointError

# The first bytes of a map in msgpack, which a checkpoint is.
_MAP = (*range(0x80, 0x90), 0xDE, 0xDF)
# A function that restores, in a traceback of Python or of pytest, or the message of Flax.
RESTORING = re.compile(
    r"(?:line \d+,|:\d+:) in (?:from_bytes|from_state_dict|msgpack_restore|restore\w*)\b"
    r"|while restoring an instance of"
)
# What a person has to put in.
_PLACEHOLDER = re.compile(r"\bVALUE\b|\bMODULE:")


def has_placeholder(command: str) -> bool:
    """True if a person has to put something into a command before it can be used."""
    return _PLACEHOLDER.search(command) is not None


def convert_all(folder: Path, commands: Sequence[str]) -> Iterator[str]:
    """Convert all checkpoints of flax.optim in a folder, in their places; yields their paths.

    Args:
      folder: the folder, which is a copy.
      commands: commands for ``OLD`` and ``NEW``; the first one that takes a checkpoint is used.
    """
    usable = [each for each in commands if not has_placeholder(each)]
    for file in list(_old_checkpoints(folder)) if usable else ():
        new = file.with_name(f"{file.name}.converted")
        if any(_converts(each, file, new, folder) for each in usable):
            os.replace(new, file)
            yield str(file.relative_to(folder))


def _old_checkpoints(folder: Path) -> Iterator[Path]:
    for top, _, names in os.walk(folder):
        for name in sorted(names):
            file = Path(top, name)
            if file.is_file() and not file.is_symlink() and _is_old(file):
                yield file


def _is_old(file: Path) -> bool:
    with file.open("rb") as opened:
        first = opened.read(1)
    if not first or first[0] not in _MAP:
        return False
    try:
        with open_checkpoint(file) as checkpoint:
            return any(each.form == "legacy" for each in find_optimizers(checkpoint.tree))
    except (CheckpointError, OSError):
        return False


def _converts(command: str, old: Path, new: Path, folder: Path) -> bool:
    words = [{"OLD": str(old), "NEW": str(new)}.get(each, each) for each in shlex.split(command)]
    done = subprocess.run(
        [sys.executable, "-m", "flaxoptim_compat", *words[1:]],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0 and new.is_file()

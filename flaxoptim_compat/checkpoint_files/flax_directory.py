"""Directories of several checkpoints: those of flax.training.checkpoints, and orbax's steps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

# After the prefix that flax.training.checkpoints has by default, the number it sorts by.
_OF_FLAX = re.compile(r"checkpoint_([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)")
_OF_ORBAX = re.compile(r"(?:step_)?(\d+)")


class Step(NamedTuple):
    """One of several checkpoints in a directory."""

    path: Path
    step: int | float


def steps_in(directory: Path) -> tuple[Step, ...]:
    """The checkpoints in a directory, oldest first.

    The checkpoints are named as flax.training.checkpoints does, such as ``checkpoint_10``, or as
    orbax does, such as ``10``. Unfinished ones, and directories with the arrays of several
    processes, are not.
    """
    entries = sorted(directory.iterdir())
    of_flax = [
        Step(entry, _number(found[1]))
        for entry in entries
        if (found := _OF_FLAX.fullmatch(entry.name))
    ]
    of_orbax = [
        Step(entry, int(found[1]))
        for entry in entries
        if (found := _OF_ORBAX.fullmatch(entry.name)) and entry.is_dir()
    ]
    return tuple(sorted(of_flax or of_orbax, key=lambda step: step.step))


def is_step(name: str) -> bool:
    """True for a name that a checkpoint in a directory of several may have."""
    return bool(_OF_FLAX.fullmatch(name) or _OF_ORBAX.fullmatch(name))


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)

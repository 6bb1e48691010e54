"""Directories of several checkpoints, from flax.training.checkpoints or from orbax."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

# The default prefix of flax.training.checkpoints, and the number by which checkpoints are sorted.
_OF_FLAX = re.compile(r"checkpoint_([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)")
_OF_ORBAX = re.compile(r"(?:step_)?(\d+)")


class StepCheckpoint(NamedTuple):
    """One of several checkpoints in a directory."""

    path: Path
    step: int | float


def steps_in(directory: Path) -> tuple[StepCheckpoint, ...]:
    """The checkpoints in a directory, oldest first.

    Their names are those of flax.training.checkpoints, such as ``checkpoint_10``, or of orbax, such
    as ``10``. Unfinished checkpoints, and directories with the arrays of several processes, have
    other names.
    """
    entries = sorted(directory.iterdir())
    of_flax = [
        StepCheckpoint(entry, _number(found[1]))
        for entry in entries
        if (found := _OF_FLAX.fullmatch(entry.name))
    ]
    of_orbax = [
        StepCheckpoint(entry, int(found[1]))
        for entry in entries
        if (found := _OF_ORBAX.fullmatch(entry.name)) and entry.is_dir()
    ]
    return tuple(sorted(of_flax or of_orbax, key=lambda step: step.step))


def is_step(name: str) -> bool:
    """True for the name of a checkpoint in a directory of several checkpoints."""
    return bool(_OF_FLAX.fullmatch(name) or _OF_ORBAX.fullmatch(name))


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)

"""What the programs of a folder return, and how far it is from what others return."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from flaxoptim_compat.legacy import launching
from flaxoptim_compat.observation import starting
from tests.support import compiling
from tests.support.places import ROOT
from tests.support.processes import output_of


def results(
    folder: Path, file: Path, *options: str, observed: Path | None = None
) -> dict[str, Any]:
    """What the programs in a folder return, by program and place.

    Args:
      folder: the programs.
      file: where the process that runs them is to write it down.
      options: those of ``tests.migrate.wild_runs``.
      observed: the folder that is to say where they used optimizers.
    """
    return results_in_turn({folder: file}, *options, observed=observed)[0]


def results_in_turn(
    folders: dict[Path, Path], *options: str, observed: Path | None = None
) -> list[dict[str, Any]]:
    """The same for several folders in one process, each with its file."""
    environment = {
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        **compiling.variables(devices=2),
    }
    if observed is not None:
        environment["PYTHONPATH"] += f"{os.pathsep}{launching.STARTUP}"
        environment[starting.USES] = str(observed)
    paths = [str(path) for pair in folders.items() for path in pair]
    output_of(["-m", "tests.migrate.wild_runs", *paths, *options], ROOT, environment)
    found = []
    for file in folders.values():
        with np.load(file) as arrays:
            found.append(dict(arrays))
    return found


def errors(ours: dict[str, Any], expected: dict[str, Any]) -> dict[str, float]:
    """What has not the same bits, in units in the last place of the largest value of its array."""
    assert ours.keys() == expected.keys(), [
        str(ours.get(name, name)) for name in ours.keys() ^ expected.keys()
    ]
    different = {}
    for name, value in expected.items():
        mine = ours[name]
        assert (mine.dtype, mine.shape) == (value.dtype, value.shape), name
        if mine.tobytes() != value.tobytes():
            unit = np.spacing(np.max(np.abs(value)))
            different[name] = float(np.max(np.abs(mine - value)) / unit)
    return different

"""Observed runs of programs, in this very process, which has jax already."""

from __future__ import annotations

import runpy
import tempfile
import traceback
from pathlib import Path

import flaxoptim_compat
from flaxoptim_compat.observation import records
from flaxoptim_compat.observation.observed_command import Run
from flaxoptim_compat.observation.recorder import recording


class InProcess:
    """Runs files of Python; of one with the same text it knows what it does."""

    def __init__(self) -> None:
        self._known: dict[bytes, Run] = {}

    def __call__(self, command: str) -> Run:
        """Run a file, whose name is the command."""
        text = Path(command).read_bytes()
        if text not in self._known:
            self._known[text] = _run(command)
        return self._known[text]


def _run(file: str) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        output = ""
        with flaxoptim_compat.installed(era=True), recording(Path(folder)):
            try:
                runpy.run_path(file, run_name="__main__")
            except Exception:
                output = traceback.format_exc()
        return Run(int(bool(output)), output, records.read(Path(folder)))

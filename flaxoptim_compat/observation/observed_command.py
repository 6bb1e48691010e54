"""The run of a command, with all Python processes that the command starts observed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.legacy.launching import child_environment
from flaxoptim_compat.observation import places, records, starting
from flaxoptim_compat.observation.places import Uses
from flaxoptim_compat.observation.records import Record


class ObservedRun(NamedTuple):
    """The outcome of a command, and the records of its processes.

    Args:
      status: the exit status.
      output: what the command printed.
      record: the states of optimizers in its processes.
      uses: where its processes used optimizers of flax.optim.
    """

    status: int
    output: str
    record: Record
    uses: Uses = Uses()


def run(command: str) -> ObservedRun:
    """Run a command by the shell, in the current directory, and observe its processes.

    As under ``flaxoptim-compat run``, the processes have the lost names.
    """
    with tempfile.TemporaryDirectory(prefix="flaxoptim-compat-") as folder:
        environment = child_environment(os.environ, (), era=True, names=0)
        done = subprocess.run(
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**environment, starting.USES: folder, starting.NUMBERS: folder},
            check=False,
        )
        record, uses = records.read(Path(folder)), places.read(Path(folder))
    return ObservedRun(done.returncode, done.stdout.decode(errors="replace"), record, uses)

"""Running a command with all Python processes that it starts observed."""

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


class Run(NamedTuple):
    """The outcome of a command, and what its processes recorded.

    Args:
      status: its exit status.
      output: what it printed.
      record: what its processes showed of the numbers of optimizers.
      uses: where they used optimizers of flax.optim.
    """

    status: int
    output: str
    record: Record
    uses: Uses = Uses()


def run(command: str) -> Run:
    """Run a command by the shell, in the current directory.

    Its processes are those that ``flaxoptim-compat run`` would make: they have the lost names.
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
    return Run(done.returncode, done.stdout.decode(errors="replace"), record, uses)

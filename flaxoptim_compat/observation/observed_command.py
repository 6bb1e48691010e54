"""The run of a command, with all Python processes that the command starts observed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
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

    As under ``flaxoptim-compat run``, the processes have the lost names. If this process is stopped
    by Ctrl-C or SIGTERM, so are those of the command.
    """
    with (
        tempfile.TemporaryDirectory(prefix="flaxoptim-compat-") as folder,
        _stopping_all(os.fsencode(folder)),
    ):
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


@contextlib.contextmanager
def _stopping_all(folder: bytes) -> Iterator[None]:
    """Make SIGTERM an interrupt for a block, and end the observed processes at an interrupt.

    ``subprocess`` ends the shell alone. A terminal sends Ctrl-C to all processes, and a program
    that stops this process does not. Where there is no ``/proc``, they are left to themselves.

    Args:
      folder: the folder into which the processes write.
    """
    is_ours = threading.current_thread() is threading.main_thread()
    is_ours = is_ours and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if is_ours:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        for environment in Path("/proc").glob("[0-9]*/environ"):
            # Most of them are those of other users, or end meanwhile.
            with contextlib.suppress(OSError):
                if folder in environment.read_bytes():
                    os.kill(int(environment.parent.name), signal.SIGTERM)
        raise
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

"""Ends the processes of a command, and removes its copies, if the one who started it was killed.

This file is a program too: started beside a proof, the watchdog waits until its standard input
ends, which the system sees to however the other process ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# So many seconds a process has to end by itself.
_GRACE = 5.0


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start a watchdog over a folder: kill the watchdog once the folder is gone."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end_all(folder: Path, group: int | None = None) -> None:
    """End the processes that run for a folder: first as a terminal would, at last by force.

    The environment of these processes names the folder. Where there is no ``/proc``, only those of
    a process group are found.

    Args:
      folder: the folder.
      group: the process group of the command.
    """
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if group is not None and os.name != "nt":
            with contextlib.suppress(OSError):
                os.killpg(group, number)
        for process in _processes_of(folder):
            with contextlib.suppress(OSError):
                os.kill(process, number)
        until = time.monotonic() + _GRACE
        while any(_processes_of(folder)):
            if time.monotonic() > until:
                break
            time.sleep(0.02)
        else:
            return


def _processes_of(folder: Path) -> Iterator[int]:
    name = os.fsencode(folder)
    for environment in Path("/proc").glob("[0-9]*/environ"):
        # Most of them are those of other users, or end meanwhile.
        with contextlib.suppress(OSError):
            number = int(environment.parent.name)
            if number != os.getpid() and name in environment.read_bytes():
                yield number


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end_all(Path(sys.argv[1]))
    shutil.rmtree(sys.argv[1], ignore_errors=True)

"""What the processes of an observed command have reported of themselves, read from their files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from flaxoptim_compat.observation.own_report import SUFFIX

KILLED, STOPPED, RUNS = "killed", "stopped by its program", "still running"
# Of `python -c`, and of a program that raises SystemExit itself: Python does not tell it.
UNKNOWN = "status unknown"


class ProcessReport(NamedTuple):
    """What a process did, and how it ended.

    Args:
      program: the name of the program, which is the same in another run.
      argv: the command line.
      executable: the Python that ran.
      pid: the number of the process.
      parent: that of the process that started it.
      time: when it began, in seconds.
      executed: the files of the original folder whose code ran.
      refused: what the process wanted to change outside of the copy, and how.
      made: what the process made outside of the copy, and is there still.
      ended: how the process ended: ``status 0``, the type and text of an exception, ``killed``, ...
    """

    program: str
    argv: tuple[str, ...]
    executable: str
    pid: int
    parent: int
    time: float
    executed: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    made: tuple[str, ...]
    ended: str

    @property
    def has_failed(self) -> bool:
        """Whether the process is known to have ended by an error, a status but 0, or a signal."""
        return self.ended not in ("status 0", UNKNOWN, STOPPED, RUNS)


def read(folder: Path) -> list[ProcessReport]:
    """The reports of all processes, in the order in which they began."""
    files = [list(_lines(file)) for file in sorted(folder.glob(f"*{SUFFIX}"))]
    stopped = {line["stops"] for lines in files for line in lines if "stops" in line}
    return [_report(lines, stopped) for lines in files if lines]


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for text in file.read_bytes().splitlines(keepends=True):
        if text.endswith(b"\n"):  # otherwise the process ended here
            yield json.loads(text)


def _report(lines: list[dict[str, Any]], stopped: set[int]) -> ProcessReport:
    first = lines[0]
    made = dict.fromkeys(line["made"] for line in lines if "made" in line)
    return ProcessReport(
        first["program"],
        tuple(first["argv"]),
        first["executable"],
        first["pid"],
        first["parent"],
        first["time"],
        tuple(line["executed"] for line in lines if "executed" in line),
        tuple((line["refused"], line["what"]) for line in lines if "refused" in line),
        tuple(filter(os.path.lexists, made)),
        _end(lines) or _end_without_a_line(first["pid"], stopped),
    )


def _end(lines: list[dict[str, Any]]) -> str:
    """How a process says that it ended; an error before a status, and of both the last one."""
    last: dict[str, Any] = {}
    for line in lines:
        last.update(line)
    if "error" in last:
        return str(last["error"])
    if "status" in last:
        return UNKNOWN if last["status"] is None else f"status {last['status']}"
    # By exec, into a program that has a report of its own if Python runs it.
    return "status 0" if "becomes" in last else ""


def _end_without_a_line(pid: int, stopped: set[int]) -> str:
    if pid in stopped:
        return STOPPED
    return RUNS if _runs(pid) else KILLED


def _runs(pid: int) -> bool:
    try:
        # Behind its name in brackets, the state: Z for one that has ended and is not waited for.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

"""What an attempt must not do, whatever it is given."""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from flaxoptim_compat import cli

# Of the processor, and of the clock, which is that of a busy machine too.
_SECONDS, _SECONDS_OF_CLOCK = 10, 120
_LINES_OF_AN_ERROR = 12


class Broken(Exception):
    """An attempt found something that must not be."""


class Attack(Protocol):
    """One kind of attempts."""

    def attempt(self, source: random.Random) -> str:
        """Do one, and return what came of it in a word.

        Raises:
          Exception: any, if something is wrong.
        """

    def close(self) -> None:
        """Leave nothing behind."""


@contextlib.contextmanager
def no_hang() -> Iterator[None]:
    """Raise ``Broken`` if the block takes more than ten seconds of the processor."""

    def stop(number: int, frame: Any) -> None:
        raise Broken("a hang: more than ten seconds")

    timers = (signal.ITIMER_PROF, signal.SIGPROF), (signal.ITIMER_REAL, signal.SIGALRM)
    before = [signal.signal(number, stop) for _, number in timers]
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_OF_CLOCK)
    try:
        yield
    finally:
        for (timer, number), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def command(*arguments: object) -> int:
    """Run the command line in this process, and return its exit status.

    Raises:
      Broken: it hangs, prints control characters, or fails in more than some lines.
      Exception: any that it lets out: a user would see a traceback.
    """
    output, errors = io.StringIO(), io.StringIO()
    with no_hang(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = cli.main([str(each) for each in arguments])
    if status == 2 and len(errors.getvalue().splitlines()) > _LINES_OF_AN_ERROR:
        raise Broken(f"an error of many lines: {errors.getvalue()[:2000]}")
    if status == 2 and not output.getvalue() + errors.getvalue():
        raise Broken("exit status 2 without a word")
    if {"\x1b", "\x07", "\r"}.intersection(output.getvalue() + errors.getvalue()):
        raise Broken("a control character is printed")
    return status


def names_in(folder: Path) -> set[str]:
    """All files and folders below a folder."""
    return {
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }


def peak_memory() -> float:
    """The most memory that this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

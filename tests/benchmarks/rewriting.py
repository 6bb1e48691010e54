"""What scan and rewrite take, beside parsing the same files and walking over their trees once."""

from __future__ import annotations

import dataclasses
import functools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.repositories import write_repository
from tests.support.oracle.wheel import genuine_wheel
from tests.support.places import ROOT

PARSED = "parse + walk"
COMMANDS = {
    "scan": ["scan"],
    "--to shim": ["rewrite", "--to", "shim", "--check"],
    "--to optax": ["rewrite", "--to", "optax", "--check"],
}
BARS = {
    "scan": Bar("scan", PARSED, 6),
    "--to shim": Bar("--to shim", PARSED, 8),
    "--to optax": Bar("--to optax", PARSED, 12),
}
COPIES, LINEAR = 10, 12
_SIZES = (100, 10, 1000)
# Of fewer files, parsing is over before it can be timed well.
_FEWEST = 100
# In seconds: for one command, and with --quick for all of them.
_TIMEOUT, _QUICK_TIMEOUT, _QUICK_TOTAL = 300, 20, 45
_PARSE = """
import ast, pathlib, resource, sys, warnings
warnings.simplefilter("ignore")
def user():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime
paths = sorted(pathlib.Path(sys.argv[1]).rglob("*.py"))
count, began = 0, user()
while not count or user() - began < 0.2:
    count += 1
    for path in paths:
        for node in ast.walk(ast.parse(path.read_bytes())):
            pass
print((user() - began) / count)
"""


def measure(effort: Effort) -> Iterator[Measurement]:
    """Trees of files, one after the other, each with the commands in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clock = _Clock(effort.quick, folder)
        yield from _copies(effort, clock, folder)
        for size in effort.up_to(_SIZES):
            write_repository(folder / str(size), size)
            setting = f"a repository of {size:,} files"
            bars = tuple(BARS.values()) if size >= _FEWEST else ()
            yield from _tree(effort, clock, folder / str(size), setting, bars)
        for seed in range(5):
            write_repository(folder / "five", 20, seed + 1, f"project_{seed}")
        yield from _tree(effort, clock, folder / "five", "five repositories of 20 files as one")
        if not effort.quick:
            setting = "the wheel of Flax 0.5.3"
            yield from _tree(effort, clock, genuine_wheel() / "flax", setting)


def _tree(
    effort: Effort,
    clock: _Clock,
    tree: Path,
    setting: str,
    bars: tuple[Bar, ...] = tuple(BARS.values()),
) -> Iterator[Measurement]:
    effort.report(setting)
    functions: dict[str, Callable[[], float]] = {PARSED: functools.partial(clock.parse, tree)}
    for label in COMMANDS:
        functions[label] = functools.partial(clock.run, label, tree)
    yield from clock.rows(setting, functions, effort.rounds(5), bars)


def _copies(effort: Effort, clock: _Clock, folder: Path) -> Iterator[Measurement]:
    """One repository, and a tree of ten copies of it."""
    # Of a smaller one, what is left without the start is too little to be a divisor.
    size = 100
    write_repository(folder / "one", size)
    for number in range(COPIES):
        shutil.copytree(folder / "one", folder / "ten" / f"copy_{number}")
    for label in effort.up_to(list(COMMANDS)):
        setting = f"{label}, {COPIES} copies of {size} files as one tree"
        effort.report(setting)
        one, ten = f"{label}, one", f"{label}, {COPIES}"
        functions = {
            one: functools.partial(clock.run, label, folder / "one"),
            ten: functools.partial(clock.run, label, folder / "ten"),
        }
        yield from clock.rows(setting, functions, effort.rounds(5), (Bar(ten, one, LINEAR),))


class _Clock:
    """Runs processes and says what they take of the processor, in the mode of users.

    A command that takes too long is stopped, and not begun again in the same setting. What it had
    taken by then stands for what it would have taken, and reaches no bar.

    Args:
      is_quick: whether all of them together have little time; what is left then is not measured.
      folder: for a program of its own.
    """

    def __init__(self, is_quick: bool, folder: Path) -> None:
        self._timeout = _QUICK_TIMEOUT if is_quick else _TIMEOUT
        self._ends = time.monotonic() + _QUICK_TOTAL if is_quick else float("inf")
        self._environment = dict(os.environ)
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._stopped: dict[str, float] = {}
        # It writes the bytecode, which is there in an installed package.
        (folder / "warm").mkdir()
        (folder / "warm" / "a.py").write_text(
            "from flax import optim\np = optim.Adam(0.1).create({}).target\n"
        )
        for label in COMMANDS:
            self._user(self._command(label, folder / "warm"))
        # What each takes for next to nothing: its imports.
        self._starts = {
            label: min(self._user(self._command(label, folder / "warm")) for _ in range(3))
            for label in COMMANDS
        }

    def rows(
        self,
        setting: str,
        functions: Mapping[str, Callable[[], float]],
        rounds: int,
        bars: Sequence[Bar],
        note: str = "",
    ) -> Iterator[Measurement]:
        """A row with what some functions take, if there is time for it."""
        if time.monotonic() > self._ends:
            return
        samples = self.interleaved(functions, rounds)
        stopped = ", ".join(self._stopped)
        if stopped:
            note = f"stopped after {self._timeout} s, and would have taken longer: {stopped}"
        row = Measurement("rewriting", setting, "s", samples, bars, f"{note}." if note else "")
        kept = [bar for bar in bars if not self._is_open(bar, row)]
        yield dataclasses.replace(row, bars=tuple(kept))

    def _is_open(self, bar: Bar, row: Measurement) -> bool:
        """Whether a command was stopped before it was known whether it reaches its bar."""
        if bar.denominator in self._stopped:
            return True
        return bar.numerator in self._stopped and row.reached(bar) is not False

    def interleaved(
        self, functions: Mapping[str, Callable[[], float]], rounds: int
    ) -> dict[str, list[float]]:
        """The times of each, in every round all of them, each the first in turn."""
        self._stopped = {}
        labels = list(functions)
        samples: dict[str, list[float]] = {label: [] for label in labels}
        for number in range(rounds):
            shift = number % len(labels)
            for label in labels[shift:] + labels[:shift]:
                if label not in self._stopped:
                    try:
                        samples[label].append(functions[label]())
                        continue
                    except _Stopped as stopped:
                        self._stopped[label] = stopped.seconds
                samples[label].append(self._stopped[label])
        return samples

    def parse(self, tree: Path) -> float:
        """Parsing all files and walking over them once."""
        done = self._process(["-c", _PARSE, str(tree)])
        return float(done.stdout)

    def run(self, label: str, tree: Path) -> float:
        """One of the commands, without what it takes for next to nothing."""
        return max(self._user(self._command(label, tree)) - self._starts[label], 0.001)

    def _command(self, label: str, tree: Path) -> list[str]:
        return ["-m", "flaxoptim_compat", *COMMANDS[label], str(tree)]

    def _user(self, command: list[str], folder: Path = ROOT) -> float:
        """What a command takes of the processor, in the mode of users."""
        before = _used()
        try:
            done = self._process(command, folder)
        except subprocess.TimeoutExpired:
            raise _Stopped(_used() - before) from None
        # 1: it has found something.
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{command} failed: {done.stdout}{done.stderr}")
        return _used() - before

    def _process(
        self, arguments: list[str], folder: Path = ROOT
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=self._timeout,
        )


class _Stopped(Exception):
    """A command that took too long, and what it had taken by then."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"after {seconds} s")
        self.seconds = seconds


def _used() -> float:
    """What all processes that have ended took of the processor, in the mode of users."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime

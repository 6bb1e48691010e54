"""What scan and rewrite take, beside parsing the same files and walking over their trees once."""

from __future__ import annotations

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
_TIMEOUT, _QUICK_TOTAL = 300, 45
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

    Args:
      is_quick: whether all of them together have little time; what is left then is not measured.
      folder: for a program of its own.
    """

    def __init__(self, is_quick: bool, folder: Path) -> None:
        self._ends = time.monotonic() + _QUICK_TOTAL if is_quick else float("inf")
        self._environment = dict(os.environ)
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # It writes the bytecode, which is there in an installed package.
        (folder / "warm").mkdir()
        (folder / "warm" / "a.py").write_text(
            "from flax import optim\np = optim.Adam(0.1).create({}).target\n"
        )
        # What each takes for next to nothing: its imports.
        self._starts = {
            label: min([self._user(label, folder / "warm") for _ in range(4)][1:])
            for label in COMMANDS
        }

    def rows(
        self,
        setting: str,
        functions: Mapping[str, Callable[[], float]],
        rounds: int,
        bars: Sequence[Bar],
    ) -> Iterator[Measurement]:
        """A row with what some functions take, each the first in turn, if there is time for it."""
        if time.monotonic() > self._ends:
            return
        labels = list(functions)
        samples: dict[str, list[float]] = {label: [] for label in labels}
        for number in range(rounds):
            shift = number % len(labels)
            for label in labels[shift:] + labels[:shift]:
                samples[label].append(functions[label]())
        yield Measurement("rewriting", setting, "s", samples, bars)

    def parse(self, tree: Path) -> float:
        """Parsing all files and walking over them once."""
        return float(self._process(["-c", _PARSE, str(tree)]).stdout)

    def run(self, label: str, tree: Path) -> float:
        """One of the commands, without what it takes for next to nothing."""
        return max(self._user(label, tree) - self._starts[label], 0.001)

    def _user(self, label: str, tree: Path) -> float:
        before = _used()
        done = self._process(["-m", "flaxoptim_compat", *COMMANDS[label], str(tree)])
        # 1: it has found something.
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{label} failed: {done.stdout}{done.stderr}")
        return _used() - before

    def _process(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT,
        )


def _used() -> float:
    """What all processes that have ended took of the processor, in the mode of users."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime

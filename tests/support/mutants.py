"""Small changes to the package, drawn at random: how many of them do its tests notice?

``python -m tests.support.mutants COVERAGE DURATIONS [--tree DIR] [--count N] [--seed N]``

A test notices a change, or kills the mutant, if it fails with it. Each mutant is tried on the tests
that run the changed line until one fails or the time is up: one of each test function, the
shortest first, then another one of each. Which tests these are is taken from a run of the tests as
they are:

    pytest --cov=flaxoptim_compat --cov-branch --cov-context=test --junitxml=DURATIONS

The package is changed in place, in a checkout that nobody uses meanwhile, and put back afterwards.
Two trees with the same package and other tests give comparable results: mutants depend on nothing
but the package and the seed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import math
import os
import random
import signal
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PACKAGE = "flaxoptim_compat"

# Each node of the syntax tree that can be changed, and into which other one.
_COMPARISONS = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
_LOGIC = {ast.And: ast.Or, ast.Or: ast.And}


class Mutant(NamedTuple):
    """One change.

    Attributes:
      path: the file, relative to the package.
      line: where it begins.
      what: the change in words.
      source: the whole file with the change.
    """

    path: str
    line: int
    what: str
    source: str

    @property
    def room(self) -> str:
        """The folder of the package that the file is in."""
        first, _, rest = self.path.partition("/")
        return first if rest else "."


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a file that Python can still compile."""
    tree = ast.parse(source)
    texts = {id(each) for node in ast.walk(tree) for each in _texts_for_readers(node)}
    for node in ast.walk(tree):
        if id(node) in texts:
            continue
        for what, new in _changes(node):
            changed = _replaced(source, node, new)
            try:
                compile(changed, path, "exec")
            except (SyntaxError, ValueError):
                continue
            if changed != source:
                yield Mutant(path, node.lineno, what, changed)


def _texts_for_readers(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings and annotations, which no test has to notice."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node
        yield node.value
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    if isinstance(annotation, ast.AST):
        yield from ast.walk(annotation)


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Compare(left, [operator], [right]):
            other = _COMPARISONS[type(operator)]()
            yield "comparison", ast.unparse(ast.Compare(left, [other], [right]))
        case ast.BinOp(left, operator, right) if type(operator) in _ARITHMETIC:
            yield (
                "operator",
                f"({ast.unparse(ast.BinOp(left, _ARITHMETIC[type(operator)](), right))})",
            )
        case ast.BoolOp(operator, values):
            yield "and, or", f"({ast.unparse(ast.BoolOp(_LOGIC[type(operator)](), values))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield "not", f"bool({ast.unparse(operand)})"
        case ast.Constant(value) if isinstance(value, bool):
            yield "constant", repr(not value)
        case ast.Constant(value) if isinstance(value, int | float):
            yield "constant", f"({value + 1!r})"
        case ast.IfExp(test, body, orelse):
            yield "condition", f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.Return(value) if value is not None:
            yield "return", "return None"
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield "statement", "pass"
        case ast.Raise():
            yield "raise", "pass"
        case ast.Break():
            yield "break", "continue"
        case ast.Continue():
            yield "continue", "break"
        case _:
            pass


def _replaced(source: str, node: ast.AST, new: str) -> str:
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    where: Any = node
    begin = starts[where.lineno - 1] + where.col_offset
    end = starts[where.end_lineno - 1] + where.end_col_offset
    whole = source.encode()
    return (whole[:begin] + new.encode() + whole[end:]).decode()


class Coverage:
    """Which tests run which line, and how long they take."""

    def __init__(self, database: Path, durations: Path) -> None:
        from coverage import CoverageData

        self.data = CoverageData(str(database))
        self.data.read()
        self.files = {
            name.rpartition(f"/{PACKAGE}/")[2]: name for name in self.data.measured_files()
        }
        self.seconds, self.failing = _durations(durations)

    def tests_of(self, path: str, line: int) -> list[str]:
        """The tests that run a line, in the order in which they are to be tried."""
        if path not in self.files:
            return []
        by_line = self.data.contexts_by_lineno(self.files[path])
        # What runs when the file is imported is no test's own: those of the whole file are tried.
        contexts = by_line.get(line, [])
        if not any(map(_test_of, contexts)):
            contexts = [context for each in by_line.values() for context in each]
        found = {_test_of(context) for context in contexts} - {"", *self.failing}
        shortest = sorted(found, key=lambda test: self.seconds.get(test, math.inf))
        earlier: dict[str, int] = defaultdict(int)
        turns = {}
        for test in shortest:
            function = test.partition("[")[0]
            turns[test] = earlier[function]
            earlier[function] += 1
        return sorted(shortest, key=turns.__getitem__)


def _test_of(context: str) -> str:
    """The test in ``main|tests/test_a.py::test_b[c]|run``."""
    for phase in ("run", "setup", "teardown"):
        context = context.removesuffix(f"|{phase}")
    context = context.removeprefix("main|")
    return context if "::" in context else ""


def _durations(report: Path) -> tuple[dict[str, float], set[str]]:
    seconds: dict[str, float] = {}
    failing = set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        seconds[name] = float(case.get("time", 0.0))
        if case.find("failure") is not None or case.find("error") is not None:
            failing.add(name)
    return seconds, failing


def draw(tree: Path, count: int, seed: int) -> list[Mutant]:
    """Mutants of all rooms: as many for a room as the square root of its size gives it."""
    rooms: dict[str, list[Mutant]] = defaultdict(list)
    for file in sorted((tree / PACKAGE).rglob("*.py")):
        path = file.relative_to(tree / PACKAGE).as_posix()
        for mutant in mutants_of(path, file.read_text()):
            rooms[mutant.room].append(mutant)
    total = sum(math.sqrt(len(each)) for each in rooms.values())
    chance = random.Random(seed)
    drawn = []
    for _, mutants in sorted(rooms.items()):
        share = math.ceil(count * math.sqrt(len(mutants)) / total)
        drawn += chance.sample(mutants, min(share, len(mutants)))
    return drawn


def try_out(mutant: Mutant, tree: Path, tests: Sequence[str], seconds: float) -> str:
    """Run tests with a mutant.

    Returns:
      ``killed``, ``survived``, ``timeout``, which is as good as killed: it never ends; or
      ``unusable`` if the tests fail without the mutant as well.
    """
    file = tree / PACKAGE / mutant.path
    before = file.read_bytes()
    file.write_text(mutant.source)
    try:
        status, failed = _status_of(tests, tree, seconds)
    finally:
        file.write_bytes(before)
    if status == 0:
        return "survived"
    # If there is no test that failed, the mutant breaks all of them, or one does not end.
    if _status_of([failed] if "::" in failed else tests[:1], tree, seconds)[0] != 0:
        return "unusable"
    return "timeout" if status is None else "killed"


def _status_of(tests: Sequence[str], tree: Path, seconds: float) -> tuple[int | None, str]:
    """Run tests in a copy of this process, which has imported what takes long.

    Returns:
      The exit status, or None if the time was up, and the first test that failed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _run_tests(tree, tests, writing)
    os.close(writing)
    try:
        status = _wait(child, seconds)
    finally:
        _end_with_children(child)
    with os.fdopen(reading) as told:
        return status, told.readline().rstrip("\n")


class _Telling:
    """A plugin of pytest that writes the name of a test that fails to a pipe."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self.pipe, f"{report.nodeid}\n".encode())


def _run_tests(tree: Path, tests: Sequence[str], pipe: int) -> None:
    os.setsid()
    os.chdir(tree)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=no"]
    # What was imported before pytest began is not rewritten, which is no matter here.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    # What is tried are the tests of the run that was measured, which may have been such a one.
    options += ["--exhaustive"]
    status = 1
    try:
        status = int(pytest.main([*options, *tests], plugins=[_Telling(pipe)]))
    finally:
        os._exit(status)


def _wait(child: int, seconds: float) -> int | None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.02)
    return None


def _end_with_children(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(leader, 0)


def _import_what_takes_long() -> None:
    # Without starting a backend of XLA, whose threads would be missing after a fork.
    for module in ("jax", "flax.linen", "optax", "orbax.checkpoint", "matplotlib"):
        importlib.import_module(module)


def main(arguments: Sequence[str] | None = None) -> None:
    """Try all, and say after each what became of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("coverage", type=Path, help="the database that pytest --cov left")
    parser.add_argument("durations", type=Path, help="the report of --junitxml of the same run")
    parser.add_argument(
        "--tree", type=Path, default=Path.cwd(), help="the checkout; its own Python runs this"
    )
    parser.add_argument("--count", type=int, default=150, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests per mutant")
    parser.add_argument("--json", type=Path, help="write what became of each mutant to this file")
    options = parser.parse_args(arguments)
    measured = Coverage(options.coverage, options.durations)
    _import_what_takes_long()
    results = []
    mutants = draw(options.tree, options.count, options.seed)
    for number, mutant in enumerate(mutants, start=1):
        tests = measured.tests_of(mutant.path, mutant.line)
        chosen, spent = [], 0.0
        for test in tests:
            spent += measured.seconds.get(test, 1.0)
            if chosen and spent > options.budget:
                break
            chosen.append(test)
        started = time.monotonic()
        outcome = (
            try_out(mutant, options.tree, chosen, 60 + 5 * options.budget)
            if chosen
            else "uncovered"
        )
        results.append(
            {"path": mutant.path, "line": mutant.line, "what": mutant.what, "outcome": outcome,
             "tests": len(chosen), "of": len(tests)}
        )  # fmt: skip
        print(
            f"{number}/{len(mutants)} {mutant.path}:{mutant.line} {mutant.what}: {outcome}"
            f" ({len(chosen)} of {len(tests)} tests, {time.monotonic() - started:.0f} s)",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
    killed = sum(each["outcome"] in ("killed", "timeout") for each in results)
    print(f"{killed} of {len(results)} killed")


if __name__ == "__main__":
    sys.exit(main())

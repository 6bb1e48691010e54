"""What ``rewrite --to optax`` makes of whole programs: how many optimizers end on a TrainState?

``python -m tests.support.optimizers_moved [--json FILE] [PROGRAM ...]``, by default all old
programs in ``tests/data``.

All is measured by the command, in processes of its own, with the package that ``PYTHONPATH`` names.
So one script gives comparable tables for two trees. Where a program makes optimizers is read from
its text here, and not asked of the command: an optimizer that the command does not see counts as
one that stays.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.places import DATA

TARGETS = ("shim", "optax")
# Folders in tests/data. Each file or folder in them is a program, but for what programs share.
_GROUPS = ("large_programs", "legacy_programs", "wild_programs", "wild_programs/left")
_SHARED = {"arrays.py", "genuine.py", "left"}
_LIMIT = 120.0
_BECAUSE = re.compile(r"because of (?:line (?P<line>\d+)|(?P<place>\S+:\d+))")
_NONE: Mapping[str, int] = {}


class Left(NamedTuple):
    """An optimizer that stays."""

    site: str
    because_of: str  # the path and line that the command names, or "" where it names none
    reason: str


class Measured(NamedTuple):
    """What the command does with a program."""

    program: str
    failure: str = ""
    seconds: float = 0.0  # of `rewrite --to optax`
    files: int = 0
    parsed: int = 0
    codes: Mapping[str, int] = _NONE
    edits: Mapping[str, int] = _NONE
    changed_files: Mapping[str, int] = _NONE
    created: int = 0
    moved: int = 0
    remaining: int = 0  # the optimizers that its rewritten text still makes
    left: tuple[Left, ...] = ()

    @property
    def unexplained(self) -> tuple[Left, ...]:
        """The optimizers that stay although no line is named for it."""
        return tuple(each for each in self.left if not (each.because_of and each.reason))


def programs() -> dict[str, Path]:
    """All old programs in ``tests/data``, by their paths there."""
    found = []
    for group in _GROUPS:
        for path in sorted((DATA / group).iterdir()):
            is_program = path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__")
            if is_program and path.name not in _SHARED and path.name != "__init__.py":
                found.append(path)
    return {str(path.relative_to(DATA)): path for path in found}


def measure(
    program: Path, name: str = "", environment: Mapping[str, str] | None = None
) -> Measured:
    """Scan a program and rewrite copies of it.

    Args:
      program: its file or folder.
      name: what to call it.
      environment: variables of the processes, besides those that there are.
    """
    name = name or program.name
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        original = _copied(program, folder / "original")
        try:
            return _measured(name, original, folder, environment or {})
        except subprocess.TimeoutExpired as error:
            return Measured(name, failure=f"longer than {error.timeout:.0f} s: {error.cmd}")
        except _Failed as error:
            return Measured(name, failure=str(error))


class _Failed(Exception):
    """The command ended otherwise than it should."""


def _measured(name: str, original: Path, folder: Path, environment: Mapping[str, str]) -> Measured:
    scanned = json.loads(
        _command(["scan", "--format", "json", original.name], original.parent, environment)
    )
    findings = scanned["findings"]
    changed, seconds = {}, 0.0
    for target in TARGETS:
        copy = _copied(original, folder / target)
        started = time.monotonic()
        _command(["rewrite", copy.name, "--to", target, "--write"], copy.parent, environment)
        seconds = time.monotonic() - started
        before, after = _texts(original), _texts(copy)
        changed[target] = sum(after[path] != text for path, text in before.items())
    sites = {
        f"{path}:{line}:{column}"
        for path, text in _texts(original).items()
        for line, column in creations(text, path, _modules(original))
    }
    # Of other uses those that make one, which is then put together by hand.
    created = {
        _place(each): each
        for each in findings
        if each["code"] == "FOC202" or (each["code"] == "FOC219" and _place(each) in sites)
    }
    moved = {place for place, each in created.items() if each["optax"]}
    left = [_left(site, created.get(site), scanned) for site in (sites | created.keys()) - moved]
    remaining = [
        site
        for path, text in _texts(folder / "optax" / original.name).items()
        for site in creations(text, path, _modules(original))
    ]
    return Measured(
        program=name,
        seconds=round(seconds, 2),
        files=scanned["files"]["seen"],
        parsed=scanned["files"]["parsed"],
        codes=dict(sorted(Counter(each["code"] for each in findings).items())),
        edits={target: sum(each[target] for each in findings) for target in TARGETS},
        changed_files=changed,
        created=len(sites | created.keys()),
        moved=len(moved),
        remaining=len(remaining),
        left=tuple(sorted(left)),
    )


def _left(site: str, finding: Mapping[str, Any] | None, scanned: Mapping[str, Any]) -> Left:
    path, line, _ = site.rsplit(":", 2)
    if finding is None:
        # It is made by hand, or the command does not take it for an optimizer.
        here = [
            each.get("reason") or each.get("why", "")
            for each in (*scanned["findings"], *scanned["not_understood"])
            if f"{each['path']}:{each['line']}" == f"{path}:{line}"
        ]
        reasons = [each for each in here if each]
        place = f"{path}:{line}" if reasons else ""
        return Left(site, place, "; ".join(reasons) or "the command does not see it")
    if finding["reason"]:
        return Left(site, f"{path}:{line}", finding["reason"])
    found = _BECAUSE.search(finding["instead"])
    if found is None:
        return Left(site, "", finding["instead"])
    place = found["place"] or f"{path}:{found['line']}"
    reasons = [
        f"{each['code']}: {each['reason']}"
        for each in scanned["findings"]
        if each["reason"] and f"{each['path']}:{each['line']}" == place
    ]
    return Left(site, place, "; ".join(dict.fromkeys(reasons)))


def creations(text: str, path: str = "", modules: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """The lines and columns, from 1, of calls that make an optimizer that stays one.

    Args:
      text: a file.
      path: its path, for errors.
      modules: names of files of the program, whose ``create`` is a function.
    """
    tree = ast.parse(text, path)
    lines = text.splitlines()
    goes_on = {
        id(node.func.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "to_train_state"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in goes_on and _makes(node.func, modules):
            before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
            yield node.lineno, len(before) + 1


def _makes(called: ast.expr, modules: Sequence[str]) -> bool:
    name = _last_name(called)
    receiver = _last_name(called.value) if isinstance(called, ast.Attribute) else ""
    if receiver in modules:
        return False
    if name == "Optimizer":
        return True
    # Classes have a `create` of their own. A definition is an object.
    is_class = receiver[:1].isupper() or receiver == "cls"
    return name == "create" and isinstance(called, ast.Attribute) and not is_class


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _place(finding: Mapping[str, Any]) -> str:
    return f"{finding['path']}:{finding['line']}:{finding['column']}"


def _texts(program: Path) -> dict[str, str]:
    """Its files, by the paths that the command prints."""
    files = sorted(program.rglob("*.py")) if program.is_dir() else [program]
    return {str(path.relative_to(program.parent)): path.read_text() for path in files}


def _modules(program: Path) -> list[str]:
    return [Path(path).stem for path in _texts(program)]


def _copied(program: Path, folder: Path) -> Path:
    folder.mkdir()
    copy = folder / program.name
    if program.is_dir():
        shutil.copytree(program, copy, ignore=shutil.ignore_patterns("genuine.py", "__pycache__"))
    else:
        shutil.copy(program, copy)
    return copy


def _command(arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> str:
    # A session of its own: the command may have started processes, and they end with it.
    process = subprocess.Popen(
        [sys.executable, "-m", "flaxoptim_compat", *arguments],
        cwd=cwd,
        env={**os.environ, "JAX_PLATFORMS": "cpu", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise subprocess.TimeoutExpired(" ".join(arguments), _LIMIT) from None
    if process.returncode not in (0, 1) or "Traceback" in errors:
        raise _Failed(
            f"{' '.join(arguments)}: {process.returncode}\n{output[-500:]}{errors[-500:]}"
        )
    return output


def as_text(measured: Sequence[Measured]) -> str:
    """A row for each program, and below it a line for each optimizer that stays."""
    width = max(len(each.program) for each in measured)
    lines = [
        f"{'program':{width}}  created moved  files: all parsed shim optax  edits: shim optax"
        "  seconds"
    ]
    for each in measured:
        if each.failure:
            lines.append(f"{each.program:{width}}  {each.failure}")
            continue
        changed, edits = each.changed_files, each.edits
        lines.append(
            f"{each.program:{width}}  {each.created:7} {each.moved:5}  "
            f"{each.files:10} {each.parsed:6} {changed['shim']:4} {changed['optax']:5}  "
            f"{edits['shim']:11} {edits['optax']:5}  {each.seconds:7.2f}"
        )
        lines.append(f"    {' '.join(f'{code}×{number}' for code, number in each.codes.items())}")
        lines += [
            f"    {left.site} stays because of {left.because_of or 'no line'}: {left.reason}"
            for left in each.left
        ]
        if each.remaining != each.created - each.moved:
            lines.append(f"    but its rewritten text makes {each.remaining} optimizers")
    whole = [each for each in measured if not each.failure]
    created, moved = sum(each.created for each in whole), sum(each.moved for each in whole)
    lines.append(f"{moved} of {created} optimizers end on a TrainState")
    lines.append(f"{sum(len(each.unexplained) for each in whole)} stay and no line is named for it")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.optimizers_moved")
    parser.add_argument("programs", nargs="*", type=Path, metavar="PROGRAM")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    chosen = {str(path): path.resolve() for path in options.programs} or programs()
    measured = [measure(path, name) for name, path in chosen.items()]
    print(as_text(measured))
    if options.json:
        rows = [
            {**each._asdict(), "left": [left._asdict() for left in each.left]} for each in measured
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

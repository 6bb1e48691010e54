"""ARCHITECTURE.md: what it names is there, and it draws the floors that the linter enforces."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import pytest

from flaxoptim_compat.versions.of_python import read_toml
from tests.support.places import ROOT

PACKAGE = ROOT / "flaxoptim_compat"
PAGE = (ROOT / ".github" / "ARCHITECTURE.md").read_text(encoding="utf-8")
ROOMS = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
# `path/file.py`, or `path/file.py:Class.method`; below the package, or below the project.
IN_FILE = re.compile(r"((?:[\w.-]+/)*[\w-]+\.(?:py|md|toml))(?::([\w.]+))?")
FOLDER = re.compile(r"[\w./]+/")
DOTTED = re.compile(r"(\w+)(?:\.\w+)+")

# --- what it names


def names() -> list[str]:
    """What stands in backticks, but not in a block of code."""
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    return list(dict.fromkeys(re.findall(r"`([^`]+)`", prose)))


def found(path: str) -> Path | None:
    places = [folder / path for folder in (PACKAGE, PACKAGE / "migrate", ROOT)]
    return next((place for place in places if place.exists()), None)


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def defines(path: Path, qualified: str) -> bool:
    """Whether a file defines a function, a class, a method or a constant, or imports it."""
    body = tree(path).body
    for name in qualified.split("."):
        inner = next((each for each in body if name in defined_by(each)), None)
        if inner is None:
            return False
        body = inner.body if isinstance(inner, ast.ClassDef) else []
    return True


def defined_by(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {each.id for each in targets if isinstance(each, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.ImportFrom(names=aliases):
            return {each.asname or each.name for each in aliases}
        case ast.If(body=body):  # what only type checkers see
            return {name for each in body for name in defined_by(each)}
    return set()


def defines_dotted(name: str) -> bool:
    """The same of ``room.module.Class.method``."""
    path, parts = PACKAGE, name.split(".")
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    file = path / "__init__.py"
    if parts and (path / f"{parts[0]}.py").exists():
        file = path / f"{parts.pop(0)}.py"
    return not parts or defines(file, ".".join(parts))


def is_there(name: str) -> bool | None:
    """Whether what is named exists; None if it is no name of a file, nor of something in one."""
    if match := IN_FILE.fullmatch(name):
        path = found(match[1])
        return path is not None and (match[2] is None or defines(path, match[2]))
    if FOLDER.fullmatch(name):
        return found(name) is not None
    match = DOTTED.fullmatch(name)
    return defines_dotted(name) if match and match[1] in ROOMS else None


def test_everything_that_it_names_is_there() -> None:
    assert [name for name in names() if is_there(name) is False] == []
    # The check itself finds them.
    assert Counter(map(is_there, names()))[True] > 100


@pytest.mark.parametrize(
    "name",
    [
        *("bridge/steps.py", "bridge/step.py:apply_gradients", "rooms/"),
        *("optim/optimizer.py:Optimizer.apply", "bridge.step.apply", "optim.optimizers.Optimizer"),
    ],
)
def test_what_is_not_there_would_be_found(name: str) -> None:
    assert is_there(name) is False


@pytest.mark.parametrize("way", re.findall(r"^## (The way of .*)$", PAGE, re.MULTILINE))
def test_each_stop_of_a_way_names_a_function(way: str) -> None:
    section = PAGE.partition(f"## {way}\n")[2].partition("\n## ")[0]
    stops = re.findall(r"^(\d+)\. ((?:.+\n)(?:   .+\n)*)", section, re.MULTILINE)
    assert [int(number) for number, _ in stops] == list(range(1, len(stops) + 1)) != []
    for number, text in stops:
        assert re.search(r"`[\w/]+\.py:\w", text), (way, number)


# --- what it draws


def layers() -> list[set[str]]:
    """The floors of the contract, the highest first."""
    settings = read_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (floors,) = [each for each in contracts if each["id"] == "floors"]
    return [set(layer.split(" | ")) for layer in floors["layers"]]


def test_it_draws_the_floors_of_the_contract() -> None:
    drawn = re.findall(r"^ +(\d+)     (\w+(?: \| \w+)*)", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in drawn] == list(range(len(drawn), 0, -1))
    assert [set(rooms.split(" | ")) for _, rooms in drawn] == layers()


def test_it_says_of_each_room_what_it_is_for() -> None:
    listed = re.findall(r"^\| `(\w+)(?:/|\.py)` \| ", PAGE, re.MULTILINE)
    assert set(listed) == set().union(*layers()) - {"__main__"}
    # From the ground up, as one reads a house.
    floor = {room: -height for height, rooms in enumerate(layers()) for room in rooms}
    assert [floor[room] for room in listed] == sorted(floor[room] for room in listed)


def test_it_explains_each_word_once() -> None:
    rows = re.findall(r"^\| ([\w ,-]+) \| ", PAGE.partition("## Words")[2], re.MULTILINE)
    words = [word for row in rows if row != "word" for word in row.split(", ")]
    assert len(words) > 30
    assert [word for word, count in Counter(words).items() if count > 1] == []

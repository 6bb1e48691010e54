"""The lines of a rewrite that the states of an optimizer went through."""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from flaxoptim_compat.observation.places import from_here
from flaxoptim_compat.observation.records import Place

_MOST = 8


class RewrittenFile(Protocol):
    """A file that is replaced."""

    @property
    def path(self) -> Path:
        """The path of the file."""

    @property
    def old(self) -> bytes:
        """The bytes of the file before."""

    @property
    def new(self) -> bytes:
        """The bytes of the file afterwards."""


def quoted(place: Place, text: bytes | None = None) -> str:
    """A line as messages show it: where, and what stands there.

    Args:
      place: the line.
      text: of the file, if it is not what is in it now.
    """
    if text is None:
        try:
            text = Path(place.file).read_bytes()
        except OSError:
            text = b""
    lines = text.decode(errors="replace").splitlines()
    line = lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""
    return f"  {from_here(place.file)}:{place.line}  {line}".rstrip()


def rewritten_lines(changes: Iterable[RewrittenFile], places: Iterable[Place]) -> list[str]:
    """The lines that a rewrite changed in the functions of these places.

    Args:
      changes: the files.
      places: lines of the rewritten program.
    """
    places = list(places)
    near: list[str] = []
    others: list[str] = []
    for change in changes:
        path = os.path.abspath(change.path)
        functions = {place.function for place in places if _is_at(place, path)}
        for number, function in _changed(change):
            line = quoted(Place(path, number, function), change.new)
            (near if function in functions else others).append(line)
    found = near or others
    more = len(found) - _MOST
    return [*found[:_MOST], *([f"  and {more:,} more"] if more > 0 else [])]


def _is_at(place: Place, path: str) -> bool:
    return os.path.realpath(place.file) == os.path.realpath(path)


def _changed(change: RewrittenFile) -> Iterator[tuple[int, str]]:
    """The new lines of a file but its imports, and the functions that they are in."""
    old, new = (text.decode(errors="replace").splitlines() for text in (change.old, change.new))
    functions = _functions(change.new, len(new))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, _, _, start, stop in matcher.get_opcodes():
        # Where lines were taken out, the one that follows stands for them.
        for index in range(start, stop if kind != "delete" else start + 1):
            text = new[index].strip() if kind != "equal" and index < len(new) else ""
            if re.search(r"\w", text) and not text.startswith(("import ", "from ", "#")):
                yield index + 1, functions[index]


def _functions(text: bytes, lines: int) -> Sequence[str]:
    """The name of the innermost function of each line."""
    names = ["<module>"] * lines
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return names
    # Outer ones first.
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stop = node.end_lineno or node.lineno
            names[node.lineno - 1 : stop] = [node.name] * (stop - node.lineno + 1)
    return names

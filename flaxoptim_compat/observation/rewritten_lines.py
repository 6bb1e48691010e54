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
from flaxoptim_compat.observation.records import ProgramLine

# So many lines are shown.
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


def quoted(line: ProgramLine, content: bytes | None = None) -> str:
    """A line of a program as messages show it: the place, and the text of the line.

    Args:
      line: the line.
      content: the content of the file, if that is not the present one.
    """
    if content is None:
        try:
            content = Path(line.file).read_bytes()
        except OSError:
            content = b""
    texts = content.decode(errors="replace").splitlines()
    text = texts[line.number - 1].strip() if 0 < line.number <= len(texts) else ""
    return f"  {from_here(line.file)}:{line.number}  {text}".rstrip()


def rewritten_lines(changes: Iterable[RewrittenFile], near: Iterable[ProgramLine]) -> list[str]:
    """The rewritten lines in the functions around some lines; if there are none, all of them.

    Args:
      changes: the files.
      near: lines of the rewritten program.
    """
    near = list(near)
    in_functions: list[str] = []
    elsewhere: list[str] = []
    for change in changes:
        path = os.path.abspath(change.path)
        functions = {line.function for line in near if _is_in(line, path)}
        for number, function in _changed(change):
            text = quoted(ProgramLine(path, number, function), change.new)
            (in_functions if function in functions else elsewhere).append(text)
    shown = in_functions or elsewhere
    more = len(shown) - _MOST
    return [*shown[:_MOST], *([f"  and {more:,} more"] if more > 0 else [])]


def _is_in(line: ProgramLine, path: str) -> bool:
    return os.path.realpath(line.file) == os.path.realpath(path)


def _changed(change: RewrittenFile) -> Iterator[tuple[int, str]]:
    """The numbers of the new lines of a file but its imports, and the functions around them."""
    old, new = (text.decode(errors="replace").splitlines() for text in (change.old, change.new))
    functions = _functions(change.new, len(new))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, _, _, start, stop in matcher.get_opcodes():
        # The line behind deleted lines stands for them.
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
    # Outer functions come first.
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stop = node.end_lineno or node.lineno
            names[node.lineno - 1 : stop] = [node.name] * (stop - node.lineno + 1)
    return names

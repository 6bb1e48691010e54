"""What IPython understands in a cell and Python does not: magics, shell lines, help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.parsing import Unparsable, parse
from flaxoptim_compat.migrate.source_text import Unreadable

# %%bash and the like hold another language; of these the lines below the first are Python.
_PYTHON_CELLS = {"capture", "prun", "time", "timeit"}
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_STATEMENT = re.compile(r"([ \t]*)[%!?].*")
_ASSIGNMENT = re.compile(r"([ \t]*[\w.,\[\]'\" \t]+=[ \t]*)[%!].*")
_HELP = re.compile(r"([ \t]*)[%\w.*\[\]]+\?\??[ \t]*;?[ \t]*")


class MaskedCell:
    """The text of a cell in which each line that is no Python is a harmless one.

    Lines keep their numbers. In place of a magic stands a ``0``, so that a block of nothing else
    is still a block, and a comment that says which one it was.

    Args:
      number: of the cell in the notebook.
      source: its text.

    Raises:
      Unreadable: what is left is no Python.
    """

    def __init__(self, number: int, source: str) -> None:
        self._number = number
        self._masked: dict[str, str] = {}
        # The lines that are masked, by their numbers from 1.
        self.magics: dict[int, str] = {}
        self.head = ""
        self.is_foreign = False
        lines = source.split("\n")
        match = _CELL_MAGIC.match(source)
        if match is not None:
            self.is_foreign = match[1] not in _PYTHON_CELLS
            if self.is_foreign:
                self.text = ""
                return
            first = source[: match.start(1)].count("\n")
            self.head = lines[first]
            self._mask(lines, first, "")
        self.text = self._parsable(lines)

    def unmasked(self, text: str) -> str | None:
        """The text with the magics again; None if one has got lost."""
        for mask, original in self._masked.items():
            if text.count(mask) != 1:
                return None
            text = text.replace(mask, original)
        if self.head and text.lstrip().partition("\n")[0] != self.head.lstrip():
            return None
        return text

    def _parsable(self, lines: list[str]) -> str:
        while True:
            text = "\n".join(lines)
            try:
                tree = parse(text)
            except Unparsable as error:
                index = error.line - 1
                kept = _kept_of_magic(lines[index]) if index < len(lines) else None
                if kept is None:
                    raise Unreadable(f"line {error.line}: {error.message}") from error
                self._mask(lines, index, kept)
            else:
                if Document(Path(), text, tree).is_too_deep:
                    raise Unreadable("it is nested too deeply")
                return text

    def _mask(self, lines: list[str], index: int, kept: str) -> None:
        """Hide a line behind what is kept of it, and those that continue it."""
        continues = lines[index].endswith("\\")
        self._hide(lines, index, f"{kept}0")
        while continues and index + 1 < len(lines):
            index += 1
            continues = lines[index].endswith("\\")
            self._hide(lines, index, "")

    def _hide(self, lines: list[str], index: int, instead: str) -> None:
        mask = f"{instead}# flaxoptim-compat: cell {self._number}, magic {len(self._masked) + 1}."
        self._masked[mask] = self.magics[index + 1] = lines[index]
        lines[index] = mask


def foreign_names(source: str) -> Iterator[int]:
    """The lines of a cell in another language that name flax.optim."""
    for number, line in enumerate(source.split("\n"), start=1):
        if re.search(r"\bflax\.optim\b|\bfrom\s+flax\s+import\b.*\boptim\b", line):
            yield number


def _kept_of_magic(line: str) -> str | None:
    """What of a line goes before the mask; None if the line is no magic."""
    for pattern in (_STATEMENT, _ASSIGNMENT, _HELP):
        match = pattern.fullmatch(line)
        if match is not None:
            return match[1]
    return None

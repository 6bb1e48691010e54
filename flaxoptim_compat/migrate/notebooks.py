"""A notebook as one Python text, and the way back into its JSON."""

from __future__ import annotations

import bisect
import json
import re

from flaxoptim_compat.migrate.containers import Place, Unwritable
from flaxoptim_compat.migrate.notebook_json import RawCell, code_cells
from flaxoptim_compat.migrate.notebook_magics import MaskedCell, foreign_names
from flaxoptim_compat.migrate.source_text import (
    Unreadable,
    line_ends,
    with_line_ends,
    without_line_ends,
)

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BOUNDARY = re.compile(r"^# flaxoptim-compat: cell (\d+)\n", re.MULTILINE)


class _Cell:
    """A code cell whose Python is part of the text."""

    def __init__(self, raw: RawCell, masked: MaskedCell, first_line: int) -> None:
        self.raw = raw
        self.masked = masked
        self.first_line = first_line


class Notebook:
    """The code cells of a notebook, one after the other.

    A comment between two cells says where the second starts; the text before the first such
    comment is that of the first cell.

    Args:
      source: the file.

    Raises:
      Unreadable: it is no notebook of Python.
    """

    def __init__(self, source: bytes) -> None:
        try:
            self._json = source.decode()
        except UnicodeDecodeError as error:
            raise Unreadable(f"byte {source[error.start]:#04x} is not UTF-8") from error
        self._mark = self._json[:1] if self._json.startswith("\ufeff") else ""
        self._json = self._json.removeprefix(self._mark)
        self.broken: list[tuple[Place, str]] = []
        self.unknown: list[tuple[Place, str]] = []
        # What the lines were that are masked in the text.
        self.magics: dict[int, str] = {}
        self._cells: list[_Cell] = []
        texts: list[str] = []
        lines = 0
        for raw in code_cells(self._json):
            masked = self._masked(raw)
            if masked is None or not masked.text.strip():
                continue
            boundary = f"# flaxoptim-compat: cell {raw.number}\n" if self._cells else ""
            self._cells.append(_Cell(raw, masked, lines + 1 + bool(boundary)))
            before = lines + bool(boundary)
            self.magics |= {before + line: magic for line, magic in masked.magics.items()}
            texts.append(f"{boundary}{masked.text}\n")
            lines += texts[-1].count("\n")
        self.text = "".join(texts)

    def _masked(self, raw: RawCell) -> MaskedCell | None:
        source = without_line_ends(raw.source)
        try:
            masked = MaskedCell(raw.number, source)
        except Unreadable as error:
            self.broken.append((self._in_cell(raw, 1, 1, 1, 1), str(error)))
            return None
        if masked.is_foreign:
            for line in foreign_names(source):
                place = self._in_cell(raw, line, 1, line, 1)
                self.unknown.append((place, "a cell in another language names flax.optim"))
            return None
        return masked

    def place(self, line: int, column: int, end_line: int, end_column: int) -> Place:
        """The place in the notebook of one in the text."""
        index = bisect.bisect_right([cell.first_line for cell in self._cells], line) - 1
        cell = self._cells[max(index, 0)]
        before = cell.first_line - 1
        return self._in_cell(cell.raw, line - before, column, end_line - before, end_column)

    def encoded(self, text: str) -> bytes:
        """The bytes of the notebook with a changed text.

        Raises:
          Unwritable: it does not fall into the same cells any more.
        """
        _, *rest = _BOUNDARY.split(f"# flaxoptim-compat: cell 0\n{text}")
        first = self._cells[0].raw.number if self._cells else 0
        numbers = [int(each) or first for each in rest[::2]]
        if numbers != [cell.raw.number for cell in self._cells] or not all(
            each.endswith("\n") for each in rest[1::2]
        ):
            raise Unwritable("the change goes across cells")
        result, done = [self._mark], 0
        for cell, changed in zip(self._cells, rest[1::2], strict=True):
            unmasked = cell.masked.unmasked(changed[:-1])
            if unmasked is None:
                raise Unwritable(f"the change touches a magic of cell {cell.raw.number}")
            source = cell.raw.source
            plain = without_line_ends(source)
            if unmasked != plain:
                new = with_line_ends(plain, line_ends(source), unmasked)
                result += [self._json[done : cell.raw.start], self._source(cell.raw, new)]
                done = cell.raw.end
        return "".join([*result, self._json[done:]]).encode()

    def _source(self, raw: RawCell, source: str) -> str:
        """The JSON of a new source, in the way of the old one."""
        # What is written all in ASCII stays so.
        is_ascii = self._json.isascii()
        if not raw.is_list:
            return json.dumps(source, ensure_ascii=is_ascii)
        first, last = raw.pieces[0], raw.pieces[-1]
        opening = self._json[raw.start + 1 : first.start]
        between = f",{opening}"
        if len(raw.pieces) > 1:
            between = self._json[first.end : raw.pieces[1].start]
        old = {piece.value: self._json[piece.start : piece.end] for piece in raw.pieces}
        new = [
            old.get(line) or json.dumps(line, ensure_ascii=is_ascii)
            for line in _LINE.findall(source)
        ]
        return f"[{opening}{between.join(new)}{self._json[last.end : raw.end]}"

    def _in_cell(
        self, raw: RawCell, line: int, column: int, end_line: int, end_column: int
    ) -> Place:
        at = raw.start
        passed = 0
        for piece in raw.pieces:
            if passed >= line:
                break
            at = piece.start
            passed += max(without_line_ends(piece.value).count("\n"), 1)
        file_line = self._json.count("\n", 0, at) + 1
        return Place(line, column, end_line, end_column, raw.number, file_line)

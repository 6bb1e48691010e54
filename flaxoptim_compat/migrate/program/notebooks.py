"""A notebook as one Python text, and the way back into its JSON."""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from flaxoptim_compat.migrate.program.document import TOO_DEEP, Document, Unparsable, parse
from flaxoptim_compat.migrate.program.source_text import (
    Place,
    Unreadable,
    Unwritable,
    line_ends,
    with_line_ends,
    without_line_ends,
)

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(strict=False)


class Piece(NamedTuple):
    """One string in the JSON text."""

    value: str
    start: int
    end: int


class RawCell(NamedTuple):
    """The source of a code cell, which is one string or a list of them.

    Args:
      number: the number of the cell in the notebook, from 1.
      start: the offset at which the string or list starts in the JSON.
      end: the offset at which it ends.
      pieces: the strings.
      is_list: whether the source is a list.
    """

    number: int
    start: int
    end: int
    pieces: tuple[Piece, ...]
    is_list: bool

    @property
    def source(self) -> str:
        """The code, with the line ends that it has."""
        return "".join(piece.value for piece in self.pieces)


def code_cells(text: str) -> list[RawCell]:
    """The code cells of a notebook.

    Raises:
      Unreadable: the text is no notebook of format 4, or no notebook of Python.
    """
    try:
        notebook = json.loads(text, strict=False)
    except ValueError as error:
        raise Unreadable(f"the file is not JSON: {error}") from error
    except RecursionError as error:
        raise Unreadable(TOO_DEEP) from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable(
            "the file is no notebook of format 4; convert an older one with jupyter nbconvert --to"
            " notebook"
        )
    language = _language(notebook.get("metadata"))
    if "python" not in language.lower():
        raise Unreadable(f"the language of the notebook is {language}")
    # If a key is there twice, the last one counts, as for json.
    cells = {key: start for key, _, start, _ in _members(text, _skip(text, 0))}["cells"]
    return [
        _code_cell(text, number, start)
        for number, (cell, start, _) in enumerate(_elements(text, cells), start=1)
        if isinstance(cell, dict) and cell.get("cell_type") == "code"
    ]


def _code_cell(text: str, number: int, at: int) -> RawCell:
    members = {key: (value, start, end) for key, value, start, end in _members(text, at)}
    value, start, end = members.get("source", ([], at, at))
    if isinstance(value, str):
        return RawCell(number, start, end, (Piece(value, start, end),), is_list=False)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Unreadable(f"cell {number} has a source that is no text")
    pieces = tuple(Piece(*each) for each in _elements(text, start)) if value else ()
    return RawCell(number, start, end, pieces, is_list=True)


def _language(metadata: Any) -> str:
    languages: list[Any] = []
    if isinstance(metadata, dict):
        for section, key in (("kernelspec", "language"), ("language_info", "name")):
            part = metadata.get(section)
            languages.append(part.get(key) if isinstance(part, dict) else None)
    return next((each for each in languages if isinstance(each, str) and each), "python")


def _members(text: str, at: int) -> Iterator[tuple[str, Any, int, int]]:
    """The key, the value and the place of each member of the object at a place."""
    at = _skip(text, at + 1)
    while text[at] == '"':
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)  # after the colon
        value, end = _DECODER.raw_decode(text, start)
        yield key, value, start, end
        at = _after_comma(text, end)


def _elements(text: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """The value and the place of each element of the array at a place."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield value, at, end
        at = _after_comma(text, end)


def _after_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


# Below these cell magics there is Python; other cell magics, as %%bash, hold another language.
_PYTHON_CELLS = {"capture", "prun", "time", "timeit"}
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_STATEMENT = re.compile(r"([ \t]*)[%!?].*")
_ASSIGNMENT = re.compile(r"([ \t]*[\w.,\[\]'\" \t]+=[ \t]*)[%!].*")
_HELP = re.compile(r"([ \t]*)[%\w.*\[\]]+\?\??[ \t]*;?[ \t]*")


class MaskedCell:
    """The text of a cell, with a harmless line in place of each line that is no Python.

    Lines keep their numbers. In place of a magic stands a ``0``, so that a block of magics is still
    a block, and a comment with the number of the magic.

    Args:
      number: the number of the cell in the notebook.
      source: the text of the cell.

    Raises:
      Unreadable: without its magics, the cell is no Python.
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
        """The text with the magics again; None if a magic has got lost."""
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
                    raise Unreadable(TOO_DEEP)
                return text

    def _mask(self, lines: list[str], index: int, kept: str) -> None:
        """Mask a line, with the lines that continue it, behind the part that is kept."""
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
    """The numbers of lines that name flax.optim, in a cell of another language."""
    for number, line in enumerate(source.split("\n"), start=1):
        if re.search(r"\bflax\.optim\b|\bfrom\s+flax\s+import\b.*\boptim\b", line):
            yield number


def _kept_of_magic(line: str) -> str | None:
    """The part of a line that goes before the mask; None if the line is no magic."""
    for pattern in (_STATEMENT, _ASSIGNMENT, _HELP):
        match = pattern.fullmatch(line)
        if match is not None:
            return match[1]
    return None


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BOUNDARY = re.compile(r"^# flaxoptim-compat: cell (\d+)\n", re.MULTILINE)


class _Cell(NamedTuple):
    """A code cell whose Python is part of the text."""

    raw: RawCell
    masked: MaskedCell
    first_line: int


class Notebook:
    """The code cells of a notebook, one after the other.

    A comment between two cells says where the second starts; the text before the first such
    comment is that of the first cell.

    Args:
      source: the bytes of the file.

    Raises:
      Unreadable: the file is no notebook of Python.
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
        # The magics that are masked, by the numbers of their lines in the text.
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
        """The place in the notebook for a place in the text."""
        index = bisect.bisect_right([cell.first_line for cell in self._cells], line) - 1
        cell = self._cells[max(index, 0)]
        before = cell.first_line - 1
        return self._in_cell(cell.raw, line - before, column, end_line - before, end_column)

    def encoded(self, text: str) -> bytes:
        """The bytes of the notebook with a changed text.

        Raises:
          Unwritable: the text does not fall into the same cells any more.
        """
        _, *parts = _BOUNDARY.split(f"# flaxoptim-compat: cell 0\n{text}")
        first = self._cells[0].raw.number if self._cells else 0
        numbers = [int(each) or first for each in parts[::2]]
        texts = parts[1::2]
        if numbers != [cell.raw.number for cell in self._cells] or not all(
            each.endswith("\n") for each in texts
        ):
            raise Unwritable("the change goes across cells")
        result, done = [self._mark], 0
        for cell, changed in zip(self._cells, texts, strict=True):
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
        """The JSON of a new source, in the style of the old one."""
        # A notebook that is all ASCII stays so.
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

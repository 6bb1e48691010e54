"""A notebook as one Python text, and the way back into its JSON."""

from __future__ import annotations

import bisect
import io
import json
import json.scanner
import re
from collections.abc import Iterator, Sequence
from typing import Any

from flaxoptim_compat.migrate.program.document import TOO_DEEP, Unparsable, parse
from flaxoptim_compat.migrate.program.source_text import (
    Place,
    Unreadable,
    Unwritable,
    line_ends,
    with_line_ends,
    without_line_ends,
)


class _Placed(str):
    """A string in JSON, with the offsets at which it starts and ends."""

    start: int
    end: int


def _decoded(text: str) -> Any:
    """The value of a text in JSON, in which all strings but keys know their places."""
    decoder: Any = json.JSONDecoder(strict=False)
    of_python: Any = json.scanner
    plain = decoder.parse_string

    def placed(text: str, start: int, strict: bool = True) -> tuple[str, int]:
        value, end = plain(text, start, strict)
        string = _Placed(value)
        string.start, string.end = start - 1, end
        return string, end

    decoder.parse_string = placed
    # The scanner of C does not ask for the function.
    decoder.scan_once = of_python.py_make_scanner(decoder)
    return decoder.decode(text)


def _cells(text: str) -> Iterator[tuple[int, Sequence[_Placed], bool]]:
    """The code cells of a notebook: the number, the strings of the source, whether it is a list.

    Raises:
      Unreadable: the text is no notebook of format 4, or no notebook of Python.
    """
    try:
        notebook = _decoded(text)
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
    for number, cell in enumerate(notebook["cells"], start=1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", [])
            is_list = isinstance(source, list)
            strings = source if is_list else [source]
            if not all(isinstance(each, _Placed) for each in strings):
                raise Unreadable(f"cell {number} has a source that is no text")
            yield number, strings, is_list


def _language(metadata: Any) -> str:
    languages: list[Any] = []
    if isinstance(metadata, dict):
        for section, key in (("kernelspec", "language"), ("language_info", "name")):
            part = metadata.get(section)
            languages.append(part.get(key) if isinstance(part, dict) else None)
    return next((each for each in languages if isinstance(each, str) and each), "python")


# Below these cell magics there is Python; other cell magics, as %%bash, hold another language.
_PYTHON_CELLS = {"capture", "prun", "time", "timeit"}
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
# A magic as a statement, in an assignment, and a question for help, behind what is kept of a line.
_MAGIC = re.compile(
    r"([ \t]*)[%!?].*|([ \t]*[\w.,\[\]'\" \t]+=[ \t]*)[%!].*"
    r"|([ \t]*)[%\w.*\[\]]+\?\??[ \t]*;?[ \t]*"
)
_FOREIGN_NAME = re.compile(r"\bflax\.optim\b|\bfrom\s+flax\s+import\b.*\boptim\b")
_BOUNDARY = re.compile(r"^# flaxoptim-compat: cell (\d+)\n", re.MULTILINE)


class _Cell:
    """A code cell, whose text has a harmless line in place of each line that is no Python.

    Lines keep their numbers. In place of a magic stands a ``0``, so that a block of magics is still
    a block, and a comment with the number of the magic.

    Args:
      number: the number of the cell in the notebook, from 1.
      strings: the strings of the source.
      is_list: whether the source is a list of strings.
    """

    def __init__(self, number: int, strings: Sequence[_Placed], is_list: bool) -> None:
        self.number = number
        self.strings = strings
        self.is_list = is_list
        self.source = "".join(strings)
        self.lines = without_line_ends(self.source).split("\n")
        self.text = ""
        # The number of the first line in the text of all cells.
        self.first_line = 1
        # {number of a line that is masked, from 1: (the mask, the line)}
        self.masked: dict[int, tuple[str, str]] = {}
        magic = _CELL_MAGIC.match("\n".join(self.lines))
        self.is_foreign = magic is not None and magic[1] not in _PYTHON_CELLS
        self._magic_line = 0 if magic is None else magic[0].count("\n") + 1

    def mask(self) -> None:
        """Make the text.

        Raises:
          Unreadable: without its magics, the cell is no Python.
        """
        lines = [*self.lines]
        if self._magic_line:
            self._mask(lines, self._magic_line - 1, "")
        while True:
            self.text = "\n".join(lines)
            try:
                parse(self.text)
                return
            except Unparsable as error:
                index = error.line - 1
                magic = _MAGIC.fullmatch(lines[index]) if index < len(lines) else None
                if magic is None:
                    raise Unreadable(f"line {error.line}: {error.message}") from error
                self._mask(lines, index, magic[magic.lastindex or 1])

    def unmasked(self, text: str) -> str:
        """A changed text with the magics again.

        Raises:
          Unwritable: a magic has got lost, or has moved.
        """
        is_first = text.lstrip().startswith(self.masked.get(self._magic_line, ("", ""))[0])
        for mask, line in self.masked.values():
            if text.count(mask) != 1 or not is_first:
                raise Unwritable(f"the change touches a magic of cell {self.number}")
            text = text.replace(mask, line)
        return text

    def _mask(self, lines: list[str], index: int, kept: str) -> None:
        """Mask a line behind the part that is kept, with the lines that continue it."""
        instead, continues = f"{kept}0", True
        while continues and index < len(lines):
            continues = lines[index].endswith("\\")
            number = len(self.masked) + 1
            mask = f"{instead}# flaxoptim-compat: cell {self.number}, magic {number}."
            self.masked[index + 1] = (mask, lines[index])
            lines[index] = mask
            index, instead = index + 1, ""

    def place(self, line: int, column: int, end_line: int, end_column: int, text: str) -> Place:
        """The place of code in the cell; ``text`` is the JSON of the notebook."""
        passed, at = 0, 0
        for each in self.strings:
            if passed < line:
                at = each.start
            passed += max(without_line_ends(each).count("\n"), 1)
        file_line = text.count("\n", 0, at) + 1
        return Place(line, column, end_line, end_column, self.number, file_line)


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
            text = source.decode()
        except UnicodeDecodeError as error:
            raise Unreadable(f"byte {source[error.start]:#04x} is not UTF-8") from error
        self._json = text.removeprefix("\ufeff")
        self._mark = text[: len(text) - len(self._json)]
        # The cells that are no Python, and why.
        self.broken: list[tuple[Place, str]] = []
        # The places in cells of other languages that name flax.optim, and what they are.
        self.unknown: list[tuple[Place, str]] = []
        # The magics that are masked, by the numbers of their lines in the text.
        self.magics: dict[int, str] = {}
        self._cells: list[_Cell] = []
        self.text = ""
        for each in _cells(self._json):
            self._add(_Cell(*each))

    def _add(self, cell: _Cell) -> None:
        if cell.is_foreign:
            for line, text in enumerate(cell.lines, start=1):
                if _FOREIGN_NAME.search(text):
                    place = cell.place(line, 1, line, 1, self._json)
                    self.unknown.append((place, "a cell in another language names flax.optim"))
            return
        try:
            cell.mask()
        except Unreadable as error:
            self.broken.append((cell.place(1, 1, 1, 1, self._json), str(error)))
            return
        if not cell.text.strip():
            return
        if self._cells:
            self.text += f"# flaxoptim-compat: cell {cell.number}\n"
        before = self.text.count("\n")
        cell.first_line = before + 1
        self.magics |= {before + line: magic for line, (_, magic) in cell.masked.items()}
        self.text += f"{cell.text}\n"
        self._cells.append(cell)

    def place(self, line: int, column: int, end_line: int, end_column: int) -> Place:
        """The place in the notebook for a place in the text."""
        index = bisect.bisect_right([cell.first_line for cell in self._cells], line) - 1
        cell = self._cells[max(index, 0)]
        before = cell.first_line - 1
        return cell.place(line - before, column, end_line - before, end_column, self._json)

    def encoded(self, text: str) -> bytes:
        """The bytes of the notebook with a changed text.

        Raises:
          Unwritable: the text does not fall into the same cells any more.
        """
        first, *parts = _BOUNDARY.split(text)
        texts = [first, *parts[1::2]] if self._cells else []
        numbers = [cell.number for cell in self._cells[1:]]
        if [*map(int, parts[::2])] != numbers or not all(each.endswith("\n") for each in texts):
            raise Unwritable("the change goes across cells")
        result, done = [self._mark], 0
        for cell, changed in zip(self._cells, texts, strict=True):
            old, new = without_line_ends(cell.source), cell.unmasked(changed[:-1])
            if new != old:
                source = with_line_ends(old, line_ends(cell.source), new)
                result += [self._json[done : cell.strings[0].start], self._written(cell, source)]
                done = cell.strings[-1].end
        return "".join([*result, self._json[done:]]).encode()

    def _written(self, cell: _Cell, source: str) -> str:
        """The JSON of a new source, in the style of the old one."""
        # A notebook that is all ASCII stays so.
        is_ascii = self._json.isascii()
        if not cell.is_list:
            return json.dumps(source, ensure_ascii=is_ascii)
        first, second = cell.strings[0], cell.strings[1:2]
        # Of a list with one string, the gap before it is taken; else the one behind it.
        opening = self._json[self._json.rindex("[", 0, first.start) + 1 : first.start]
        between = self._json[first.end : second[0].start] if second else f",{opening}"
        old = {str(each): self._json[each.start : each.end] for each in cell.strings}
        return between.join(
            old.get(line) or json.dumps(line, ensure_ascii=is_ascii) for line in io.StringIO(source)
        )

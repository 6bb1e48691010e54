"""Where the sources of cells stand in the JSON text of a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from flaxoptim_compat.migrate.source_text import Unreadable

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
      number: of the cell in the notebook, from 1.
      start: where the string or list starts.
      end: where it ends.
      pieces: its strings.
      is_list: whether it is a list.
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
      Unreadable: it is no notebook of format 4, or not one of Python.
    """
    try:
        notebook = json.loads(text, strict=False)
    except ValueError as error:
        raise Unreadable(f"it is not JSON: {error}") from error
    except RecursionError as error:
        raise Unreadable("it is nested too deeply") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable(
            "it is no notebook of format 4; jupyter nbconvert --to notebook makes one of an older"
        )
    language = _language(notebook.get("metadata"))
    if "python" not in language.lower():
        raise Unreadable(f"its language is {language}")
    # Of a key that is there twice the last counts, as for json.
    cells = {key: start for key, _, start, _ in _members(text, _skip(text, 0))}["cells"]
    return [
        _code_cell(text, number, start)
        for number, (cell, start, _) in enumerate(_elements(text, cells), start=1)
        if isinstance(cell, dict) and cell.get("cell_type") == "code"
    ]


def _code_cell(text: str, number: int, at: int) -> RawCell:
    places = {key: (value, start, end) for key, value, start, end in _members(text, at)}
    value, start, end = places.get("source", ([], at, at))
    if isinstance(value, str):
        return RawCell(number, start, end, (Piece(value, start, end),), is_list=False)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Unreadable(f"cell {number} has a source that is no text")
    pieces = tuple(Piece(*each) for each in _elements(text, start)) if value else ()
    return RawCell(number, start, end, pieces, is_list=True)


def _language(metadata: Any) -> str:
    found: list[Any] = []
    if isinstance(metadata, dict):
        for section, key in (("kernelspec", "language"), ("language_info", "name")):
            part = metadata.get(section)
            found.append(part.get(key) if isinstance(part, dict) else None)
    return next((each for each in found if isinstance(each, str) and each), "python")


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

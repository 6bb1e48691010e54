"""The text of a Python file or of a notebook's cells, and the way back to its bytes."""

from __future__ import annotations

import codecs
import difflib
import io
import re
import tokenize
from collections.abc import Sequence
from typing import NamedTuple

# Form feeds and the line separators of Unicode do not end a line of Python.
_LINE_END = re.compile(r"\r\n|\r|\n")


class Unreadable(Exception):
    """A file, or a part of it, that cannot be read as Python; the message says why."""


class PythonFile(NamedTuple):
    r"""The text of a Python file.

    Args:
      text: the text with ``\n`` at the ends of lines, and without a byte order mark.
      encoding: the encoding of the file.
      has_mark: whether it starts with the byte order mark of UTF-8.
      line_ends: the line end of each line in the file.
    """

    text: str
    encoding: str
    has_mark: bool
    line_ends: tuple[str, ...]

    def place(self, line: int, column: int, end_line: int, end_column: int) -> Place:
        """The place itself, since the text has the lines of the file."""
        return Place(line, column, end_line, end_column, 0, line)

    def encoded(self, text: str) -> bytes:
        """The bytes of a changed text; lines that are still there keep their ends."""
        mark = codecs.BOM_UTF8 if self.has_mark else b""
        return mark + with_line_ends(self.text, self.line_ends, text).encode(self.encoding)


def decode(source: bytes) -> PythonFile:
    """Decode a Python file as Python does.

    Raises:
      Unreadable: Python could not decode the file either.
    """
    if b"\0" in source:
        is_utf16 = source.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        raise Unreadable(
            "the file is UTF-16, which is no Python" if is_utf16 else "the file holds null bytes"
        )
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(_undecoded(source, error)) from error
    except (SyntaxError, LookupError, ValueError) as error:
        raise Unreadable(_why_undetected(source, error)) from error
    has_mark = encoding == "utf-8-sig"
    encoding = "utf-8" if has_mark else encoding
    return PythonFile(without_line_ends(text), encoding, has_mark, line_ends(text))


def without_line_ends(text: str) -> str:
    r"""The text with ``\n`` at the end of each line."""
    return _LINE_END.sub("\n", text) if "\r" in text else text


def line_ends(text: str) -> tuple[str, ...]:
    """The line ends of a text, in their order."""
    return tuple(_LINE_END.findall(text)) if "\r" in text else ("\n",) * text.count("\n")


def with_line_ends(old: str, ends: Sequence[str], new: str) -> str:
    r"""A changed text with the line ends of the old one.

    Args:
      old: the text before, with ``\n`` at the ends of lines.
      ends: the line ends of the old text.
      new: the text now, with ``\n`` at the ends of lines; a new line ends as the line that it
        replaces, or else as the line before it.
    """
    kinds = set(ends)
    if len(kinds) < 2:
        return new.replace("\n", ends[0]) if kinds else new
    old_lines, new_lines = old.split("\n"), new.split("\n")
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    result: list[str] = []
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        last = max(end, start) - 1 if end > start else start - 1
        for number, line in enumerate(new_lines[new_start:new_end]):
            # The last line of a text has no end.
            index = min(start + number, last, len(ends) - 1)
            result += [line, ends[max(index, 0)]]
    return "".join(result[:-1])


def _undecoded(source: bytes, error: UnicodeDecodeError) -> str:
    line = source.count(b"\n", 0, error.start) + 1
    return f"line {line}: byte {source[error.start]:#04x} is not {error.encoding.upper()}"


def _why_undetected(source: bytes, error: Exception) -> str:
    try:
        source.decode()
    except UnicodeDecodeError as undecoded:
        return f"{_undecoded(source, undecoded)}, and no other encoding is declared"
    return str(error)


class Place(NamedTuple):
    """The place of code in a file; all numbers count from 1, columns in characters.

    Args:
      line: the first line, in the file or in the cell.
      column: the column of the first character.
      end_line: the last line.
      end_column: the column behind the last character.
      cell: the number of the cell in a notebook; 0: it is in no notebook.
      file_line: the line of the file; in a notebook, that of its JSON.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    cell: int
    file_line: int


class Unwritable(Exception):
    """A changed text that does not fit back into its file."""

"""What holds Python: a file of its own, or a notebook."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from flaxoptim_compat.migrate.source_text import SourceText


class Place(NamedTuple):
    """Where something stands; all numbers count from 1, columns in characters.

    Args:
      line: of the file, or of the cell.
      column: where it starts.
      end_line: where it ends.
      end_column: the column behind its last character.
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


class Container(Protocol):
    """The way between the text of a document and its file."""

    def place(self, line: int, column: int, end_line: int, end_column: int) -> Place:
        """The place in the file of one in the text."""

    def encoded(self, text: str) -> bytes:
        """The bytes of the file with a changed text."""


class PythonFile:
    """A file of Python and nothing else.

    Args:
      source: its text.
    """

    def __init__(self, source: SourceText) -> None:
        self._source = source

    def place(self, line: int, column: int, end_line: int, end_column: int) -> Place:
        """The place as it is: only the code of a notebook stands elsewhere than it says."""
        return Place(line, column, end_line, end_column, 0, line)

    def encoded(self, text: str) -> bytes:
        """The bytes, with the line ends and the byte order mark that the file has."""
        return self._source.encoded(text)

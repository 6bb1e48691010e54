"""Marks: the comments of ``rewrite`` above code that it leaves, and how they are found again."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

# Further lines of a mark are indented, which tells them from other comments.
_CONTINUED = "#   "
_NARROWEST = 40
_MARK = re.compile(rf"^[ \t]*# (FOC\d{{3}}): .*(?:\n[ \t]*{_CONTINUED}.*)*", re.MULTILINE)
# The number of a line, behind its file.
_LINE = re.compile(r"(?<=\.py):\d+|(?<=\.ipynb):(?:cell \d+:)?\d+")
_CODE = re.compile("`[^`]*`")


class Mark(NamedTuple):
    """A mark in a text.

    Args:
      code: the code of the rule.
      text: the text after ``#``, on one line.
      start: the offset of its ``#``.
      end: the offset behind its last character.
    """

    code: str
    text: str
    start: int
    end: int


def text_of(code: str, reason: str) -> str:
    """The text of a mark, without the numbers of lines, since marks move the lines below them.

    Args:
      code: the code of the rule.
      reason: the reason on the terminal.
    """
    return f"{code}: {_LINE.sub('', reason)}"


def written(text: str, width: int) -> list[str]:
    """The lines of a mark, without their indentation, with code in backticks on one line.

    Args:
      text: the text after ``#``.
      width: how long the lines may be.
    """
    whole = _CODE.sub(lambda code: code[0].replace(" ", "\0"), f"# {text}")
    lines = textwrap.wrap(
        whole,
        max(width, _NARROWEST),
        subsequent_indent=_CONTINUED,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def marks_in(text: str) -> Iterator[Mark]:
    """All marks of a text.

    Args:
      text: a file, or lines of it.
    """
    for match in _MARK.finditer(text):
        start = match.start(1) - len("# ")
        first, *continued = match[0].split("\n")
        comment = " ".join([first.strip(), *(line.lstrip("# \t").rstrip() for line in continued)])
        yield Mark(match[1], _LINE.sub("", comment.removeprefix("# ")), start, match.end())

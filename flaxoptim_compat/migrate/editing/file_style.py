"""How a file is written where a text will stand: its indentation, its width, its quotes."""

from __future__ import annotations

import ast
import collections
import functools
import re
from collections.abc import Iterable

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.program.document import Document

# How many columns a tab is wide, when lines are measured.
_TAB = 4
_GOOGLES = "  "
# Several lines of code beyond the first of these come from a formatter that allows the second.
_LONG = (88, 100)
# A line that ends with an open bracket, and the one after it.
_HANGING = re.compile(r"^( *)\S.*[(\[{]\n( *)\S", re.MULTILINE)
_DOUBLE = re.compile(r'"([^"\n]*)"')
# With these in it, a text may have quotes that begin or end no string.
_UNCLEAR = re.compile('[\'#\\\\]|"""')


def room(document: Document, line: int) -> int:
    """How many characters a line may have behind its indentation.

    Args:
      document: the file.
      line: the line, counted from 1.
    """
    return _width(indentation(document)) - columns(margin_of(document.lines[line - 1]))


@functools.lru_cache(maxsize=1)  # one file comes after the other
def indentation(document: Document) -> str:
    """The blanks or tabs that the file indents by."""
    for statement in document.tree.body:
        body = getattr(statement, "body", None)
        if body:
            margin = margin_of(document.lines[body[0].lineno - 1])
            if 0 < len(margin) == body[0].col_offset:
                return margin
    return "    "


@functools.lru_cache(maxsize=1)
def hanging(document: Document) -> str:
    """The blanks or tabs that the file indents by within brackets."""
    unit = indentation(document)
    if unit != _GOOGLES:
        return unit
    columns = collections.Counter(
        len(inner) - len(outer) for outer, inner in _HANGING.findall(document.text)
    )
    # Google's style has four there.
    return unit if columns[len(unit)] > columns[2 * len(unit)] else 2 * unit


@functools.lru_cache(maxsize=1)
def width_of(document: Document) -> int:
    """How long the lines of a file may be."""
    width = _width(indentation(document))
    # Quotes and comments are as long as they are.
    code = (each for each in document.lines if not any(map(each.__contains__, "#'\"")))
    is_rule = sum(len(each) - 1 > _LONG[0] for each in code) > 1
    return _LONG[1] if is_rule else width


def _width(unit: str) -> int:
    # Where two spaces are an indentation, a line has 80 characters, as Google's style has it.
    return 80 if unit == _GOOGLES else 88


def margin_of(line: str) -> str:
    """The blanks or tabs that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def columns(margin: str) -> int:
    """How wide the blanks or tabs are that a line begins with."""
    return len(margin.expandtabs(_TAB))


def quoted_as_in(document: Document, edits: Iterable[Edit]) -> list[Edit]:
    """The edits with the quotes of the file; what is written without it has double ones.

    Args:
      document: the file.
      edits: of any rule.
    """
    found = list(edits)
    if not any(map(_has_strings, found)) or not _prefers_single(document):
        return found
    return [_with_single(each) if _has_strings(each) else each for each in found]


def _has_strings(edit: Edit) -> bool:
    return any(isinstance(each, str) and '"' in each for each in edit.fragments)


def _prefers_single(document: Document) -> bool:
    quotes: collections.Counter[str] = collections.Counter()
    for node in document.of_kind(ast.Constant):
        if isinstance(node.value, str):
            begin = document.span(node)[0]
            if document.text[begin : begin + 3] not in ('"""', "'''"):
                quotes[document.text[begin]] += 1
    return quotes["'"] > quotes['"']


def _with_single(edit: Edit) -> Edit:
    fragments = edit.fragments
    texts = [each for each in fragments if isinstance(each, str)]
    # A string may have spans of the old text in it.
    if any(_UNCLEAR.search(each) or each.count('"') % 2 for each in texts):
        return edit
    changed = tuple(
        _DOUBLE.sub(r"'\1'", each) if isinstance(each, str) else each for each in fragments
    )
    return edit._replace(fragments=changed)

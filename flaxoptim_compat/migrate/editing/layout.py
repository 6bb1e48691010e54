"""The layout of a file, by which lines that edits make too long are broken.

Indentation, width and quotes are those of the file. Rules write in one line, and do not know the
edits of other rules in the same statement. So lines are broken in the text after all edits.
"""

from __future__ import annotations

import ast
import collections
import functools
import re
from collections.abc import Iterable

from flaxoptim_compat import line_breaks
from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.program.document import Document

# The width of a tab in columns.
_TAB = 4
_GOOGLES = "  "
# If several lines of code are longer than the first width, the formatter allows the second.
_LONG = (88, 100)
_DOUBLE = re.compile(r'"([^"\n]*)"')
# A text with one of these may have quotes that begin or end no string.
_UNCLEAR = re.compile('[\'#\\\\]|"""')


def room(document: Document, line: int) -> int:
    """The number of characters that a line may have behind its indentation.

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


def hanging(document: Document) -> str:
    """The blanks or tabs that the file indents by within brackets: in Google's style, four."""
    unit = indentation(document)
    return 2 * unit if unit == _GOOGLES else unit


@functools.lru_cache(maxsize=1)
def width_of(document: Document) -> int:
    """The number of columns that the lines of a file may have."""
    # Lines with strings and comments may be longer than the formatter allows.
    code = (each for each in document.lines if not any(map(each.__contains__, "#'\"")))
    is_rule = sum(len(each) - 1 > _LONG[0] for each in code) > 1
    return _LONG[1] if is_rule else _width(indentation(document))


def _width(unit: str) -> int:
    # Where two spaces are an indentation, a line has 80 characters, as Google's style has it.
    return 80 if unit == _GOOGLES else 88


def margin_of(line: str) -> str:
    """The blanks or tabs that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def columns(margin: str) -> int:
    """The width, in columns, of the blanks or tabs that a line begins with."""
    return len(margin.expandtabs(_TAB))


def quoted_as_in(document: Document, edits: Iterable[Edit]) -> list[Edit]:
    """The edits, with single quotes if the file prefers these; rules write double ones.

    Args:
      document: the file.
      edits: the edits of all rules.
    """
    edits = list(edits)
    if not any(map(_has_strings, edits)) or not _prefers_single(document):
        return edits
    return [_with_single(each) if _has_strings(each) else each for each in edits]


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


def laid_out(document: Document, text: str) -> str:
    """The text of a file after its edits, with the new lines broken that are too long.

    A statement is broken as a whole where its brackets open and close on several lines, unless
    there are comments in it. All else is left to a formatter.

    Args:
      document: the file before.
      text: the text after all edits.
    """
    old, width = frozenset(document.lines), width_of(document)
    lines = [f"{line}\n" for line in text.split("\n")]
    long = [
        number
        for number, line in enumerate(lines, start=1)
        if line not in old and _columns_of_code(line) > width
    ]
    if not long:
        return text
    new = Document(document.path, text, ast.parse(text))
    edits = [
        Edit(start, end, (_broken(document, text[start:end]),))
        for start, end in dict.fromkeys(_to_break(new, number) for number in long)
    ]
    broken = apply_edits(text, edits)
    return broken if line_breaks.same(broken, text) else text


def _to_break(document: Document, number: int) -> tuple[int, int]:
    """The place of a line, or of the statement, or the head of one, whose brackets it is within."""
    start = document.line_starts[number - 1]
    if line_breaks.is_closed(document.lines[number - 1]):
        return start, document.line_end(start)
    around = [
        (first, last)
        for node in document.nodes
        if isinstance(node, ast.stmt)
        for first, last in [_lines_of(document, node)]
        if first <= number <= last
    ]
    first, last = max(around, default=(number, number))
    return document.line_starts[first - 1], document.line_starts[last] - 1


def _lines_of(document: Document, statement: ast.stmt) -> tuple[int, int]:
    """The first and the last line of a statement, or of its head if it has a body."""
    body = getattr(statement, "body", None)
    last = document.first_line(body[0]) - 1 if isinstance(body, list) else statement.end_lineno
    return statement.lineno, last or statement.lineno


def _broken(document: Document, text: str) -> str:
    """Some lines, broken into as many as they need, with a comment behind the last one."""
    margin, comment = margin_of(text), line_breaks.comment_of(text.rpartition("\n")[2])
    code = text.removesuffix(comment).removeprefix(margin)
    whole = line_breaks.joined(code) if "\n" in code else code
    if whole is None:
        return text
    lines = line_breaks.in_lines(whole, hanging(document), width_of(document), margin)
    return f"{margin}{lines}{comment}"


def _columns_of_code(line: str) -> int:
    line = line.rstrip("\n")
    return columns(line.removesuffix(line_breaks.comment_of(line)))

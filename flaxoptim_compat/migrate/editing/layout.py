"""The layout of a file, by which lines that edits make too long are broken.

Indentation, width and quotes are those of the file. Rules write in one line, and do not know the
edits of other rules in the same statement. So lines are broken after the edits of all rules.
"""

from __future__ import annotations

import ast
import collections
import functools
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from flaxoptim_compat import line_breaks
from flaxoptim_compat.migrate.editing.edits import Edit, Span, apply_edits
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


# Imports are left to a sorter, and a match has no form in one line.
_OTHERS = (ast.Import, ast.ImportFrom, ast.Match)


def laid_out(document: Document, edits: Iterable[Edit]) -> list[Edit]:
    """The edits, with the lines broken in statements that edits make too long.

    Args:
      document: the file.
      edits: the edits of all rules.
    """
    remaining = sorted(dict.fromkeys(edits), key=lambda each: (each.start, each.end))
    whole: list[Edit] = []
    for start, end in _changed_statements(document, remaining):
        inner = [each for each in remaining if _is_within(each, start, end)]
        if not inner or inner[0].start < start or max(each.end for each in inner) > end:
            continue
        new = apply_edits(document.text, inner, Span(start, end))
        text = _statement(document, Span(start, end), inner)
        margin = margin_of(document.lines[document.position(start)[0] - 1])
        # The text may have two statements now.
        broken, plain = (textwrap.dedent(f"{margin}{each}") for each in (text, new))
        if text != new and line_breaks.same(broken, plain):
            remaining = [each for each in remaining if each not in inner]
            whole.append(Edit(start, end, (text,)))
    return [*whole, *remaining]


def _is_within(edit: Edit, start: int, end: int) -> bool:
    """True if an edit changes a statement itself, and does not just add lines beside it."""
    if edit.start < edit.end:
        return start < edit.end and edit.start < end
    text = "".join(each for each in edit.fragments if isinstance(each, str))
    if edit.start == start:
        return not text.endswith("\n")
    return start < edit.start < end or (edit.start == end and not text.startswith("\n"))


def _statement(document: Document, span: Span, edits: Sequence[Edit]) -> str:
    """A statement after its edits, with new lines no longer than allowed, or than before."""
    margin = margin_of(document.lines[document.position(span.start)[0] - 1])
    old = f"{margin}{document.text[span.start : span.end]}".split("\n")
    # A statement that was too long before may stay so.
    width = width_of(document)
    longest = max(width, *map(_columns_of_code, old))
    flat = _in_one_line(document, edits)
    text = apply_edits(document.text, [*flat, *_aligned(document, span, flat)], span)
    lines = f"{margin}{text}".split("\n")
    long = [each for each in lines if each not in old and _columns_of_code(each) > longest]
    if not all(map(line_breaks.is_closed, long)) and (whole := line_breaks.joined(text)):
        lines = long = [f"{margin}{whole}"]
    unit = hanging(document)
    broken = (_broken(each, unit, width) if each in long else each for each in lines)
    return "\n".join(broken).removeprefix(margin)


def _in_one_line(document: Document, edits: Sequence[Edit]) -> list[Edit]:
    """The edits, with code in one line that took over several lines with their old indentation."""
    flat_edits: list[Edit] = []
    done = -1
    for edit in sorted(edits, key=lambda each: (each.start, -each.end)):
        # An edit within another one is a part of its text.
        if edit.end <= done and edit.start < done:
            continue
        place = Span(edit.start, edit.end)
        inner = [edit, *(each for each in edits if edit.start <= each.start < each.end <= edit.end)]
        text = apply_edits(document.text, inner, place) if edit.start < edit.end else ""
        flat = line_breaks.joined(text) if "\n" in text else None
        if flat:
            done = edit.end
            edit = Edit(edit.start, edit.end, (flat,))
        flat_edits.append(edit)
    return flat_edits


def _aligned(document: Document, span: Span, edits: Sequence[Edit]) -> Iterator[Edit]:
    """Edits that move the lines of a statement that stand below an open bracket, with it."""
    text = document.text
    pairs = [
        (span.start + start, span.start + end)
        for start, end in line_breaks.pairs(text[span.start : span.end])
    ]
    first, last = document.position(span.start)[0], document.position(span.end)[0]
    by = {first: 0}
    for line in range(first + 1, last + 1):
        start, margin = document.line_starts[line - 1], margin_of(document.lines[line - 1])
        around = (opening for opening, closing in pairs if opening < start <= closing)
        opened = max(around, default=span.start)
        above, column = document.position(opened)
        by[line] = by[above]
        if not document.lines[above - 1][column:].isspace() and len(margin) >= column:
            begin = document.line_starts[above - 1]
            before = [each for each in edits if begin <= each.start and each.end <= opened]
            new = apply_edits(text, before, Span(begin, opened))
            by[line] += len(new) - (opened - begin) if "\n" not in new else 0
        is_new = any(each.start < start < each.end for each in edits)
        if by[line] > 0 and not is_new:
            yield Edit(start, start, (" " * by[line],))
        elif by[line] < 0 and not is_new and margin.startswith(" " * -by[line]):
            yield Edit(start, start - by[line], ())


def _broken(line: str, unit: str, width: int) -> str:
    """A line, broken into as many as it needs, with its comment behind the last one."""
    margin, comment = margin_of(line), line_breaks.comment_of(line)
    code = line.removesuffix(comment).removeprefix(margin)
    return f"{margin}{line_breaks.in_lines(code, unit, width, margin)}{comment}"


def _columns_of_code(line: str) -> int:
    return columns(line.removesuffix(line_breaks.comment_of(line)))


def _changed_statements(document: Document, edits: Iterable[Edit]) -> Iterator[tuple[int, int]]:
    """The place of each statement that edits are made in, or of its head if it has a body."""
    changed = {document.position(each.start)[0] for each in edits}
    for node in document.parents:
        if not isinstance(node, ast.stmt) or isinstance(node, _OTHERS):
            continue
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            lines = range(node.lineno, (node.end_lineno or 0) + 1)
            if not changed.isdisjoint(lines) and document.has_its_lines(node):
                yield document.span(node)
            continue
        below = document.first_line(body[0])
        if not changed.isdisjoint(range(node.lineno, below)) and not document.before(node).strip():
            start = document.span(node)[0]
            head = document.text[start : document.line_starts[below - 1]]
            # Behind the colon there may be comments, and above the body.
            if end := head.rfind(":\n") + 1:
                yield start, start + end

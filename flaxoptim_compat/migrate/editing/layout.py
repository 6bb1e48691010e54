"""How a file is written, and the statements that edits change, in as many lines as they need now.

Indentation, width and quotes are those of the file. Rules write in one line, and do not know what
others write into the same statement. So statements are laid out after all of them: the whole of one
that stood as formatters break lines, and of one that somebody laid out by hand what is new in it.
"""

from __future__ import annotations

import ast
import bisect
import collections
import functools
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat import line_breaks
from flaxoptim_compat.migrate.editing.edits import Edit, Fragment, Span, apply_edits
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


# Imports are laid out elsewhere; a match is not said in one line.
_OTHERS = (ast.Import, ast.ImportFrom, ast.Match)
_BEGINNING = re.compile(r"\n( *)")
_LAST_COMMA = re.compile(r",\n *[)\]}]")
# A letter of Khoisan languages, so that it makes names, but hardly any of a program's.
_MARK = "\u01c1"
_NAMED = re.compile(f"({_MARK}\\d+{_MARK}+)")


class _Place(NamedTuple):
    """A line of a file.

    Args:
      margin: the blanks or tabs that it begins with.
      unit: those that lines within brackets are indented by.
      width: how many characters there is room for behind the margin.
      step: how wide the unit is.
    """

    margin: str
    unit: str
    width: int
    step: int

    @classmethod
    def of(cls, document: Document, start: int) -> _Place:
        """The line of a place in the text."""
        margin = margin_of(document.lines[document.position(start)[0] - 1])
        unit = hanging(document)
        return cls(margin, unit, width_of(document) - columns(margin), columns(unit))

    def indented(self, lines: str) -> str:
        """Lines that are indented as the file is, which were indented by blanks."""

        def begin(line: re.Match[str]) -> str:
            return f"\n{self.margin}{self.unit * (len(line[1]) // self.step)}"

        return _BEGINNING.sub(begin, lines)


def laid_out(document: Document, edits: Iterable[Edit]) -> list[Edit]:
    """The same edits, with others in place of those that have to be laid out.

    Args:
      document: the file.
      edits: what is done to it.
    """
    remaining = sorted(dict.fromkeys(edits), key=lambda each: (each.start, each.end))
    whole: list[Edit] = []
    for start, end in _changed_statements(document, remaining):
        inner = [each for each in remaining if _is_within(each, start, end)]
        if not inner or inner[0].start < start or max(each.end for each in inner) > end:
            continue
        old = document.text[start:end]
        new = apply_edits(document.text, inner, Span(start, end))
        text = _statement(document, start, old, new)
        if text:
            remaining = [each for each in remaining if each not in inner]
            whole.append(Edit(start, end, (text,)))
    strings = [document.span(each) for each in document.of_kind(ast.JoinedStr)]
    apart = (
        _by_itself(document, each, remaining) if _may_break(each, strings) else each
        for each in remaining
    )
    return [*whole, *apart]


def _may_break(edit: Edit, strings: Iterable[tuple[int, int]]) -> bool:
    """Whether an edit replaces something, and not within an f-string, which has one line."""
    is_inside = any(start < edit.start and edit.end < end for start, end in strings)
    return edit.start < edit.end and not is_inside


def _is_within(edit: Edit, start: int, end: int) -> bool:
    """Whether an edit changes a statement, or lines beside it."""
    if edit.start < edit.end:
        return start < edit.end and edit.start < end
    text = "".join(each for each in edit.fragments if isinstance(each, str))
    if edit.start == start:
        return not text.endswith("\n")
    return start < edit.start < end or (edit.start == end and not text.startswith("\n"))


def _statement(document: Document, start: int, old: str, new: str) -> str:
    """The lines of a new statement; "" if nothing says how they are to be laid out."""
    place = _Place.of(document, start)
    margin, width, step = place.margin, place.width, place.step
    # A comma before a closing bracket keeps each element on a line of its own.
    keeps_commas = bool(_LAST_COMMA.search(old))
    if "\n" not in old + new and len(new) <= width:
        return new

    def lines(text: str) -> str:
        flat = line_breaks.joined(text, keeps_commas)
        # It was too long before, and whoever wrote it did not mind.
        minds = "\n" in old or len(old) <= width or len(flat) > len(old)
        if (len(flat) > width or keeps_commas) and minds:
            apart = line_breaks.joined(text, keeps_commas=True)
            return place.indented(line_breaks.statement_in_lines(apart, step, width))
        return flat

    def of_one(text: str) -> str:
        result = lines(line_breaks.without_brackets(text, keeps_commas))
        return result if line_breaks.same(result, text) else ""

    try:
        if lines(old) != old:
            return ""
        texts = [of_one(each) for each in _statements(new, margin)]
    except (line_breaks.Unclear, tokenize.TokenError, SyntaxError):
        return ""
    return f"\n{margin}".join(texts) if all(texts) else ""


def _statements(text: str, margin: str) -> list[str]:
    """The statements of which an edit made one, or two."""
    lines = text.split(f"\n{margin}")
    try:
        starts = [each.lineno - 1 for each in ast.parse("\n".join(lines)).body]
    except SyntaxError:  # it is the head of one
        return [text]
    ends = [*starts[1:], len(lines)]
    return [f"\n{margin}".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def _by_itself(document: Document, edit: Edit, edits: Sequence[Edit]) -> Edit:
    """An edit that is laid out alone, where it makes a line too long.

    What it takes over of the program in several lines keeps these.

    Args:
      document: the file.
      edit: one that replaces something.
      edits: all of them.
    """
    place = _Place.of(document, edit.start)
    margin, width, step = place.margin, place.width, place.step
    flat, names = _flat(document, edit, edits)
    pieces = _statements(flat, margin) if "\n" in flat else [flat]
    if len(pieces) > 1:
        broken = [line_breaks.statement_in_lines(each, step, width) for each in pieces]
    elif _is_expression(flat):
        before = document.position(edit.start)[1] - 1 - len(margin)
        after = _behind(document, edit, width - before)
        broken = [line_breaks.expression_in_lines(flat, step, width, before, after)]
    else:
        return edit
    lines = f"\n{margin}".join(map(place.indented, broken))
    if lines == flat or not all(map(line_breaks.same, broken, pieces)):
        return edit
    fragments = (names.get(each, each) for each in _NAMED.split(lines) if each)
    return edit._replace(fragments=tuple(fragments))


def _behind(document: Document, edit: Edit, width: int) -> int:
    """How many characters follow an edit on its last line.

    Args:
      document: the file.
      edit: it.
      width: how many characters there is room for.
    """
    rest = document.text[edit.end :].split("\n", 1)[0].split("#", 1)[0].rstrip()
    # What calls a method of the old value will not follow the new one.
    after = 0 if rest.startswith(".") else len(rest)
    old = document.text[edit.start : edit.end]
    # The line was too long before: what is no longer than the old value does not make it so.
    return min(after, width - len(old)) if "\n" not in old else after


def _flat(document: Document, edit: Edit, edits: Sequence[Edit]) -> tuple[str, dict[str, Fragment]]:
    """What an edit writes, with names for what it takes over in several lines."""
    parts: list[str] = []
    names: dict[str, Fragment] = {}
    for fragment in edit.fragments:
        if isinstance(fragment, Span):
            start, end = fragment
            first, last = (
                side(edits, place, key=lambda each: each.start)
                for side, place in ((bisect.bisect_left, start), (bisect.bisect_right, end))
            )
            inner = [each for each in edits[first:last] if each.end <= end and each != edit]
            text = apply_edits(document.text, inner, fragment)
            if "\n" in text:
                width = max(map(len, text.split("\n")))
                text = f"{_MARK}{len(names)}{_MARK}".ljust(width, _MARK)
                names[text] = fragment
            parts.append(text)
        else:
            parts.append(fragment)
    return "".join(parts), names


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _changed_statements(document: Document, edits: Iterable[Edit]) -> Iterator[tuple[int, int]]:
    """Where each statement stands, or the head of one with a body, that edits are made in."""
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
            end = _end_of_head(document.text[start : document.line_starts[below - 1]])
            if end:
                yield start, start + end


def _end_of_head(lines: str) -> int:
    """Where the head of a statement ends, in lines up to its body; 0 if they are none."""
    try:
        tokens = [each for each in line_breaks.tokens(lines) if each.type != tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return 0
    if not tokens or tokens[-1].string != ":":
        return 0
    row, column = tokens[-1].end
    return sum(len(each) + 1 for each in lines.split("\n")[: row - 1]) + column

"""Taking whole import statements out of a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.edits import Edit
from flaxoptim_compat.migrate.imports.placing import Statement

_SEPARATOR = re.compile(r"[ \t]*;[ \t]*")
_FOLLOWED = re.compile(r"[ \t]*;[ \t]*(?=[^\s#])")
_END_OF_LINE = re.compile(r"[ \t]*;?[ \t]*(\n|\Z)")
_PRECEDED = re.compile(r"[ \t]*;[ \t]*\Z")
_BEFORE_COMMENT = re.compile(r"[ \t]*;?[ \t]*")


def last_of_their_blocks(document: Document, going: Collection[Statement]) -> set[Statement]:
    """Of each block that would be left empty its last statement.

    Args:
      document: the file.
      going: the statements that are to be taken out.
    """
    last: set[Statement] = set()
    for statement in going:
        parent = document.parents[statement]
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, [])
            if statement is next(reversed(block), None) and set(block) <= set(going):
                last.add(statement)
    return {each for each in last if document.parents[each] is not document.tree}


def edits(document: Document, going: Collection[ast.stmt]) -> Iterator[Edit]:
    """Take statements out, with their lines or with a semicolon, but without comments behind.

    Args:
      document: the file.
      going: the statements.
    """
    text = document.text
    spans: list[tuple[int, int]] = []
    for start, end in sorted(document.span(each) for each in going):
        if spans and _SEPARATOR.fullmatch(text, spans[-1][1], start):
            start, _ = spans.pop()
        spans.append((start, end))
    for start, end in spans:
        yield Edit(*_with_surroundings(text, start, end), ())


def _with_surroundings(text: str, start: int, end: int) -> tuple[int, int]:
    """What goes together with one or several statements behind each other."""
    followed = _FOLLOWED.match(text, end)
    if followed is not None:
        return start, followed.end()
    line_start = text.rfind("\n", 0, start) + 1
    preceded = _PRECEDED.search(text, line_start, start)
    if preceded is not None:
        return preceded.start(), end
    end_of_line = _END_OF_LINE.match(text, end)
    if end_of_line is not None:
        return line_start, end_of_line.end()
    comment = _BEFORE_COMMENT.match(text, end)
    return start, comment.end() if comment is not None else end

"""Where in a file a text will stand, which says how long its lines may be."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from flaxoptim_compat.migrate.document import Document


class Surroundings(NamedTuple):
    """The surroundings of an expression.

    Args:
      indent: how many spaces the line of its start begins with.
      before: how many characters stand between those and the expression.
      after: how many follow it on its last line.
      step: how many spaces the file indents by.
      width: how long lines may be.
    """

    indent: int = 0
    before: int = 0
    after: int = 0
    step: int = 4
    width: int = 88


def surroundings_of(document: Document, node: ast.expr) -> Surroundings:
    """The place of an expression, if the new one stands where it stands."""
    start, end = document.span(node)
    line, column = document.position(start)
    text = document.lines[line - 1]
    indent = len(text) - len(text.lstrip(" "))
    rest = document.text[end:].split("\n", 1)[0].split("#", 1)[0].rstrip()
    # What calls a method of the old value will not follow the new one.
    after = 0 if rest.startswith(".") else len(rest)
    step = indentation(document)
    # Where two spaces are an indentation, a line has 80 characters, as Google's style has it.
    return Surroundings(indent, column - 1 - indent, after, step, 80 if step == 2 else 88)


def indentation(document: Document) -> int:
    """How many spaces the file indents by."""
    found = re.search(r":[ \t]*(?:#.*)?\n(?:[ \t]*\n)*( +)\S", document.text)
    for statement in document.tree.body:
        body = getattr(statement, "body", None)
        if body and body[0].lineno > statement.lineno:
            return int(body[0].col_offset)
    return len(found[1]) if found else 4

"""Expressions of a program inside of those that take their place: quoted, as they stand there."""

from __future__ import annotations

import ast
from typing import Final

from flaxoptim_compat import syntax
from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.edits import Parts, Span

# What needs brackets around it that its own place in the text does not tell of.
_LOOSE: Final = (ast.NamedExpr, ast.Yield, ast.YieldFrom)
_LOOSER: Final = (*_LOOSE, ast.IfExp, ast.Lambda)


def quoted(document: Document, node: ast.expr, within: bool = False) -> syntax.Quoted:
    """An expression of a file.

    Args:
      document: the file.
      node: the expression.
      within: whether it will stand in an expression, not just between commas.
    """
    span = Span(*document.span(node))
    loose = _LOOSER if within else _LOOSE
    return quoted_parts(document, ("(", span, ")") if isinstance(node, loose) else (span,))


def quoted_parts(document: Document, parts: Parts) -> syntax.Quoted:
    """Any parts, as one expression."""
    text = "".join(
        part if isinstance(part, str) else document.text[part.start : part.end] for part in parts
    )
    return syntax.Quoted(text, parts)


def parts_of(text: syntax.Text) -> Parts:
    """A text with the places of what is quoted, so that other rules may change that too."""
    parts: list[str | Span] = []
    for each in text:
        for part in (each,) if isinstance(each, str) else each.origin:
            if isinstance(part, str) and parts and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
    return tuple(part for part in parts if part != "")

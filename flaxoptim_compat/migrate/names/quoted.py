"""Annotations in quotes, which are code too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.names.dotted import chain_of


def annotation(node: ast.Constant, document: Document) -> ast.expr | None:
    """The expression in an annotation in quotes, with the places it has in the file.

    Args:
      node: the text.
      document: the file.

    Returns:
      None if it is no expression, or is not written as it reads: with escapes, in pieces.
    """
    source = document.source(node)
    quote = source[:1] * 3 if source[:3] in ("'''", '"""') else source[:1]
    text = str(node.value)
    if quote not in ("'", '"', "'''", '"""') or source != f"{quote}{text}{quote}" or "\n" in text:
        return None
    try:
        expression = ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    column = node.col_offset + len(quote) - 1
    for each in ast.walk(expression):
        if isinstance(each, ast.expr | ast.keyword | ast.arg):
            each.lineno = each.end_lineno = node.lineno
            each.col_offset += column
            assert each.end_col_offset is not None
            each.end_col_offset += column
    return expression


def names_in(node: ast.AST) -> Iterator[tuple[ast.expr, ast.Name, tuple[str, ...]]]:
    """The chains of an expression, each with its root and its path."""
    if isinstance(node, ast.expr):
        found = chain_of(node)
        if found is not None and isinstance(found[0], ast.Name):
            yield node, found[0], found[1]
            return
    for each in ast.iter_child_nodes(node):
        yield from names_in(each)

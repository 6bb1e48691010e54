"""The pieces that edits about optimizers are put together from."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flaxoptim_compat.migrate.editing.edits import Edit, Fragment, Fragments, Span
from flaxoptim_compat.migrate.optimizers.reading import Reading


def replaced(reading: Reading, node: ast.expr, *text: Fragment) -> Edit:
    """An expression that becomes this text."""
    start, end = reading.document.span(node)
    return Edit(start, end, text)


def value(reading: Reading, node: ast.expr) -> Fragments:
    """An expression as the value of a keyword, in brackets if it needs them there."""
    bare = isinstance(node, ast.NamedExpr | ast.Yield | ast.YieldFrom)
    return ("(", span(reading, node), ")") if bare else (span(reading, node),)


def owner(reading: Reading, node: ast.expr) -> Fragments:
    """An expression in front of a dot, in brackets if it needs them there."""
    is_float = isinstance(node, ast.Constant) and isinstance(node.value, float)
    whole = is_float or isinstance(node, _WHOLE)
    return (span(reading, node),) if whole else ("(", span(reading, node), ")")


_WHOLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Dict)


def span(reading: Reading, node: ast.expr | ast.keyword) -> Span:
    """The place of a node, with what other rules make of it."""
    return Span(*reading.document.span(node))


def renamed_attribute(reading: Reading, node: ast.Attribute, new: str) -> Edit:
    """Another name for an attribute; what stands before its dot is not touched."""
    end = reading.document.span(node)[1]
    return Edit(end - len(node.attr), end, (new,))


def listed(arguments: Iterable[Fragments]) -> Fragments:
    """Arguments with commas between them."""
    parts = (part for argument in arguments for part in (", ", *argument))
    return tuple(parts)[1:]

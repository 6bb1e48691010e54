"""Tests whether an expression is evidently an array, a result of functions, or without effect."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.values.known_names import RETURN_ARRAYS


def is_array(reading: Reading, node: ast.expr) -> bool:
    """True if an expression is an array of jax in every program that runs.

    Args:
      reading: the file.
      node: the expression.
    """
    return _is_array(reading, node, frozenset())


def _is_array(reading: Reading, node: ast.expr, asked: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        # Of a value made from itself, the other values that it is made from decide.
        return node.id in asked or all(
            each is not None and _is_array(reading, each, asked | {node.id})
            for each in _values(reading, node)
        )
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mod) and not _is_array(reading, node.left, asked):
            return False  # the left side may be a text, as in "%s" % array
        return any(_is_array(reading, each, asked) for each in (node.left, node.right))
    if isinstance(node, ast.Call):
        return reading.names.full_name(node.func) in RETURN_ARRAYS or _is_update(node)
    return False


def _is_update(node: ast.Call) -> bool:
    """True for ``x.at[index].set(y)`` and the like."""
    match node.func:
        case ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="at"))):
            return True
    return False


def is_made_by(reading: Reading, node: ast.expr, makers: tuple[str, ...]) -> bool:
    """True for a result of one of these makers, as far as can be seen in the function around it.

    Args:
      reading: the file.
      node: the expression.
      makers: full names of functions and classes.
    """
    return all(
        isinstance(each, ast.Call) and reading.names.full_name(each.func) in makers
        for each in _values(reading, node)
    )


# Reading one of these does nothing else, so that it can be left out.
_WITHOUT_EFFECT = (ast.Name, ast.Constant)


def is_without_effect(node: ast.expr) -> bool:
    """True if computing an expression has no effect."""
    match node:
        case ast.Attribute(value=inner) | ast.UnaryOp(operand=inner):
            return is_without_effect(inner)
        case ast.Subscript(value=inner, slice=index):
            return isinstance(index, _WITHOUT_EFFECT) and is_without_effect(inner)
    return isinstance(node, _WITHOUT_EFFECT)


def _values(reading: Reading, node: ast.expr) -> Sequence[ast.expr | None]:
    """The values that a name gets in its function, or the expression; None if one is not known."""
    if not isinstance(node, ast.Name):
        return [node]
    home = reading.names.walk.names[node].binder(node.id, (node.lineno, node.col_offset))
    if home is None or home.node is not reading.document.variables_of(node):
        return [None]
    return [each.value for each in home.bindings[node.id]]

"""Tests whether an expression is evidently an array, or the result of certain functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.successors.successor import name_of_today
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
        if node.id in asked:
            return True  # a value made from itself: the other values that it is made from decide
        values = _assigned(reading, node)
        return bool(values) and all(
            each is not None and _is_array(reading, each, asked | {node.id}) for each in values
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
    subscript = node.func.value if isinstance(node.func, ast.Attribute) else None
    at = subscript.value if isinstance(subscript, ast.Subscript) else None
    return isinstance(at, ast.Attribute) and at.attr == "at"


def is_partial(reading: Reading, call: ast.Call) -> bool:
    """True for a call of ``functools.partial`` that gives it a function first.

    Args:
      reading: the file.
      call: the call.
    """
    name = name_of_today(reading.names.full_name(call.func))
    return name == "functools.partial" and bool(call.args)


def is_made_by(reading: Reading, node: ast.expr, makers: tuple[str, ...]) -> bool:
    """True for a result of one of these makers, as far as can be seen in the function around it.

    Args:
      reading: the file.
      node: the expression.
      makers: full names of functions and classes.
    """
    if isinstance(node, ast.Name):
        values = _assigned(reading, node)
        return bool(values) and all(
            isinstance(each, ast.Call) and is_made_by(reading, each, makers) for each in values
        )
    return isinstance(node, ast.Call) and reading.names.full_name(node.func) in makers


def _assigned(reading: Reading, node: ast.Name) -> Sequence[ast.expr | None]:
    """The values that a name gets in its function; None for each that is no plain assignment."""
    return reading.once(_bindings, reading.document.variables_of(node)).get(node.id, ())


def _bindings(reading: Reading, around: ast.AST) -> dict[str, list[ast.expr | None]]:
    """The values of each name in a function, or in a file."""
    values: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(around):
        for name, value in _bound_by(node, reading.document.parents):
            values.setdefault(name, []).append(value)
    return values


def _bound_by(
    node: ast.AST, parents: Mapping[ast.AST, ast.AST]
) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.arg):
        yield node.arg, None
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from ((name, None) for name in node.names)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        match parents[node]:
            case ast.Assign(targets=targets, value=value) if node in targets:
                yield node.id, value
            case _:
                yield node.id, None

"""Tests for what an expression evidently is: an array, or the result of certain functions."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.successors.successor import name_of_today
from flaxoptim_compat.migrate.values.known_names import RETURN_ARRAYS

_COMPILE = frozenset({"jax.jit", "jax.pmap", "jax.experimental.pjit.pjit"})


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
            return True  # it was made from itself, and everything else that it is made from decides
        values = _assigned(reading, node)
        return bool(values) and all(
            each is not None and _is_array(reading, each, asked | {node.id}) for each in values
        )
    if isinstance(node, ast.BinOp):
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


def is_result(reading: Reading, node: ast.expr) -> bool:
    """True for a result of a compiled function, or a name for only such results or their parts.

    Args:
      reading: the file.
      node: the expression.
    """
    values = _assigned(reading, node, in_parts=True) if isinstance(node, ast.Name) else [node]
    return bool(values) and all(
        isinstance(each, ast.Call) and _is_compiled(reading, each.func) for each in values
    )


def _is_compiled(reading: Reading, function: ast.expr) -> bool:
    """True if the function that is called was compiled in this file."""
    if not isinstance(function, ast.Name):
        return isinstance(function, ast.Call) and _compiles(reading, function.func)
    found = [
        any(_decorates(reading, by) for by in each.decorator_list[:1])
        for each in reading.document.of_kind(ast.FunctionDef)
        if each.name == function.id
    ]
    for each in reading.document.of_kind(ast.Assign):
        if any(isinstance(one, ast.Name) and one.id == function.id for one in each.targets):
            is_call = isinstance(each.value, ast.Call)
            found.append(is_call and _is_compiled(reading, each.value))
    return bool(found) and all(found)


def _decorates(reading: Reading, node: ast.expr) -> bool:
    return _compiles(reading, node) or (
        isinstance(node, ast.Call) and _compiles(reading, node.func)
    )


def _compiles(reading: Reading, node: ast.expr) -> bool:
    """True for ``jax.jit`` and the like, or a partial of it."""
    if isinstance(node, ast.Call) and is_partial(reading, node):
        node = node.args[0]
    return name_of_today(reading.names.full_name(node)) in _COMPILE


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


def _assigned(reading: Reading, node: ast.Name, *, in_parts: bool = False) -> list[ast.expr | None]:
    """The values that a name gets in its function; None for what is not a plain assignment.

    With ``in_parts`` it may also be a part of what is assigned, as in ``x, y = f()``.
    """
    found = _bindings(reading, reading.document.variables_of(node)).get(node.id, ())
    return [each.value if in_parts or not each.is_part else None for each in found]


class _Binding(NamedTuple):
    """The value that a name gets, or gets a part of; None for what is no plain assignment."""

    value: ast.expr | None
    is_part: bool


@functools.lru_cache(maxsize=4)  # one function comes after the other
def _bindings(reading: Reading, around: ast.AST) -> dict[str, list[_Binding]]:
    """The bindings of each name in a function, or in a file."""
    found: dict[str, list[_Binding]] = {}
    for node in ast.walk(around):
        for name, value in _bound_by(node, reading.document.parents):
            found.setdefault(name, []).append(value)
    return found


def _bound_by(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> Iterator[tuple[str, _Binding]]:
    if isinstance(node, ast.arg):
        yield node.arg, _Binding(None, False)
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from ((name, _Binding(None, False)) for name in node.names)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        target: ast.expr = node
        parent = parents[node]
        while isinstance(parent, ast.Tuple | ast.List):
            target, parent = parent, parents[parent]
        is_target = isinstance(parent, ast.Assign) and target in parent.targets
        value = parent.value if isinstance(parent, ast.Assign) and is_target else None
        yield node.id, _Binding(value, target is not node)

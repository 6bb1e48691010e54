"""Which expressions are evidently arrays of jax, and not lists or arrays of numpy."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.values.known_names import RETURN_ARRAYS


def is_array(reading: Reading, node: ast.expr) -> bool:
    """Whether an expression is an array of jax in every program that runs.

    Args:
      reading: the file.
      node: the expression.
    """
    return _is_array(reading, node, frozenset())


def _is_array(reading: Reading, node: ast.expr, asked: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        if node.id in asked:
            return True  # it was made from itself, and everything else that it is made from decides
        values = assigned(reading, node)
        return bool(values) and all(
            each is not None and _is_array(reading, each, asked | {node.id}) for each in values
        )
    if isinstance(node, ast.BinOp):
        return any(_is_array(reading, each, asked) for each in (node.left, node.right))
    if isinstance(node, ast.Call):
        return reading.names.full_name(node.func) in RETURN_ARRAYS or _is_update(node)
    return False


def _is_update(node: ast.Call) -> bool:
    """Whether it is ``x.at[index].set(y)`` or the like."""
    subscript = node.func.value if isinstance(node.func, ast.Attribute) else None
    at = subscript.value if isinstance(subscript, ast.Subscript) else None
    return isinstance(at, ast.Attribute) and at.attr == "at"


def assigned(reading: Reading, node: ast.Name, *, in_parts: bool = False) -> list[ast.expr | None]:
    """What is assigned to a name in its function; None for what is not a plain assignment.

    Args:
      reading: the file.
      node: the name.
      in_parts: whether it may also be a part of what is assigned, as in ``x, y = f()``.
    """
    found = _bindings(reading, reading.document.variables_of(node)).get(node.id, ())
    return [each.value if in_parts or not each.is_part else None for each in found]


class _Binding(NamedTuple):
    """What a name gets: a value or a part of it; None for what is no plain assignment."""

    value: ast.expr | None
    is_part: bool


@functools.lru_cache(maxsize=4)  # one function comes after the other
def _bindings(reading: Reading, around: ast.AST) -> dict[str, list[_Binding]]:
    """What is assigned to each name in a function, or in a file."""
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

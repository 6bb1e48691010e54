"""Which expressions are results of compiled functions: arrays of jax, or trees of these."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.successors.evident_arrays import assigned
from flaxoptim_compat.migrate.successors.successor import name_of_today

_COMPILE = frozenset({"jax.jit", "jax.pmap", "jax.experimental.pjit.pjit"})


def is_partial(reading: Reading, call: ast.Call) -> bool:
    """Whether a call gives ``functools.partial`` a function first.

    Args:
      reading: the file.
      call: the call.
    """
    name = name_of_today(reading.names.full_name(call.func))
    return name == "functools.partial" and bool(call.args)


def is_result(reading: Reading, node: ast.expr) -> bool:
    """Whether it is a result of a compiled function, or a name of nothing but parts of such.

    Args:
      reading: the file.
      node: the expression.
    """
    values = assigned(reading, node, in_parts=True) if isinstance(node, ast.Name) else [node]
    return bool(values) and all(
        isinstance(each, ast.Call) and _is_compiled(reading, each.func) for each in values
    )


def _is_compiled(reading: Reading, function: ast.expr) -> bool:
    """Whether what is called was compiled in this file."""
    if not isinstance(function, ast.Name):
        return isinstance(function, ast.Call) and _compiles(reading, function.func)
    found = [
        any(_decorates(reading, by) for by in each.decorator_list[:1])
        for each in reading.document.of_kind(ast.FunctionDef)
        if each.name == function.id
    ]
    for each in reading.document.of_kind(ast.Assign):
        if function.id in _names(each.targets):
            is_call = isinstance(each.value, ast.Call)
            found.append(is_call and _is_compiled(reading, each.value))
    return bool(found) and all(found)


def _decorates(reading: Reading, node: ast.expr) -> bool:
    return _compiles(reading, node) or (
        isinstance(node, ast.Call) and _compiles(reading, node.func)
    )


def _compiles(reading: Reading, node: ast.expr) -> bool:
    """Whether it is ``jax.jit`` or the like, or a partial of it."""
    if isinstance(node, ast.Call) and is_partial(reading, node):
        node = node.args[0]
    return name_of_today(reading.names.full_name(node)) in _COMPILE


def _names(targets: list[ast.expr]) -> list[str]:
    return [each.id for each in targets if isinstance(each, ast.Name)]

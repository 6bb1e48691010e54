"""What tests are called with by pytest and by absl, as their decorators write it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flaxoptim_compat.migrate.names.dotted import last_name


def parametrized(decorator: ast.expr, parameters: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that a decorator gives something, and each expression for it.

    Args:
      decorator: that of a function.
      parameters: the names of its parameters, without ``self``.
    """
    match decorator:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, values, *_]):
            given = _listed(names)
            for row in _elements(values):
                yield from zip(given, _of_pytest(row, len(given)), strict=False)
        case ast.Call(func=function, args=rows):
            kind = last_name(function)
            if kind in ("parameters", "named_parameters"):
                match rows:
                    case [ast.List(elts=listed)]:
                        rows = listed
                for row in rows:
                    yield from _of_absl(row, parameters, kind == "named_parameters")


def fixture_params(decorator: ast.expr) -> list[ast.expr]:
    """What ``pytest.fixture(params=[...])`` gives to a fixture as ``request.param``, one by one."""
    rows = [
        row
        for keyword in (decorator.keywords if isinstance(decorator, ast.Call) else ())
        if keyword.arg == "params"
        for row in _elements(keyword.value)
    ]
    return [each for row in rows for each in _of_pytest(row, 1)]


def _listed(names: ast.expr) -> list[str]:
    """The parameters of ``parametrize``, in one text or in several."""
    if isinstance(names, ast.Constant):
        return [each.strip() for each in str(names.value).split(",") if each.strip()]
    return [str(each.value) for each in _elements(names) if isinstance(each, ast.Constant)]


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else []


def _of_pytest(row: ast.expr, count: int) -> list[ast.expr]:
    match row:
        case ast.Call(func=function, args=given) if last_name(function) == "param":
            return given
    return [row] if count == 1 else _elements(row)


def _of_absl(
    row: ast.expr, parameters: Sequence[str], is_named: bool
) -> Iterator[tuple[str, ast.expr]]:
    match row:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield str(key.value), value
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            yield from ((each.arg, each.value) for each in keywords if each.arg)
        case ast.Tuple(elts=several) | ast.List(elts=several):
            yield from zip(parameters, several[is_named:], strict=False)
        case _:
            yield from zip(parameters, [row], strict=False)

"""What the parameters of a function are given: by a call, as a decorator, or as a test."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.names.walk import parameters
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.memory import Memory
from flaxoptim_compat.migrate.values.objects import NOTHING, Context, Function
from flaxoptim_compat.migrate.values.variables import Held

# As many arguments as `*` may stand for.
MOST_SLOTS = 8


class Call(NamedTuple):
    """A call in a program.

    Args:
      document: the file.
      node: the expression.
      context: of the function it stands in, the call that this one belongs to.
    """

    document: Document
    node: ast.Call
    context: Context


class Argument(NamedTuple):
    """One argument of a call.

    Args:
      name: the keyword; None for one by position, and for ``**``.
      value: what it holds.
      is_starred: whether it is written with ``*`` or ``**``.
      is_keyword: whether it stands among the keywords.
    """

    name: str | None
    value: Held
    is_starred: bool = False
    is_keyword: bool = False


class Given(NamedTuple):
    """The arguments of a call: by position in order, and by name."""

    positional: Sequence[Held]
    named: Sequence[tuple[str | None, Held]]


def given_by(memory: Memory, arguments: Iterable[Argument]) -> Given:
    """What the arguments of a call give by position, where ``*`` is written out, and by name.

    Args:
      memory: the variables.
      arguments: in their order.
    """
    positional: list[Held] = []
    by_position = [each for each in arguments if not each.is_keyword]
    named = [(each.name, each.value) for each in arguments if each.is_keyword]
    for index, each in enumerate(by_position):
        if not each.is_starred:
            positional.append(each.value)
        elif index == len(by_position) - 1:
            slots = range(MOST_SLOTS) if each.value is not NOTHING else ()
            positional += [memory.item(each.value, slot) for slot in slots]
        else:
            # How many it stands for is not known, so the rest may be anywhere.
            rest = [
                memory.contents(other.value) if other.is_starred else other.value
                for other in by_position[index:]
            ]
            positional += [memory.joined(rest)] * MOST_SLOTS
            break
    return Given(positional, named)


def kept_by(decorator: Function) -> str:
    """The parameter of a decorator that is what it decorates; "" if that is called, or handed on.

    What calls it is a wrapper around many functions, each of which would be all of them.
    """
    for first in parameters(decorator.node.args)[decorator.is_bound :][:1]:
        for each in ast.walk(decorator.node):
            match each:
                case ast.Call(func=ast.Name(id=name), args=args) if name == first.arg or (
                    any(getattr(one, "id", "") == first.arg for one in args)
                    and not hasattr(builtins, name)
                ):
                    return ""
        return first.arg
    return ""


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

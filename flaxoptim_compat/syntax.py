"""Expressions as syntax trees: made by hand, and written in lines of bearable length.

Everything this package writes in optax, in a warning as in a program, is laid out here. What a
program has of its own stays as it is: it is a ``Quoted`` in the tree, and in the text.
"""

from __future__ import annotations

import ast
import json
import math
import textwrap
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from flaxoptim_compat.line_breaks import in_lines

WIDTH = 88


class Quoted(ast.expr):
    """Text that is written as it is.

    Args:
      text: the text.
      origin: where it comes from, for whoever puts the text together.
    """

    _fields = ()

    def __init__(self, text: str, origin: Any = None) -> None:
        super().__init__()
        self.text = text
        self.origin = origin


# What is written: text of this package, and what is quoted.
Text = tuple[str | Quoted, ...]


def called(function: ast.expr | str, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    """A call; a function that is a string is the dotted name of one."""
    function = dotted(function) if isinstance(function, str) else function
    given = [ast.keyword(arg=name, value=value) for name, value in keywords.items()]
    return ast.Call(function, list(args), given)


def dotted(name: str) -> ast.expr:
    """A name with dots."""
    node: ast.expr
    first, *rest = name.split(".")
    node = ast.Name(first)
    for attribute in rest:
        node = ast.Attribute(node, attribute)
    return node


def function(parameters: Mapping[str, ast.expr | None], body: ast.expr) -> ast.Lambda:
    """A lambda; those of its parameters that have defaults come last."""
    given = [ast.arg(name) for name in parameters]
    defaults = [default for default in parameters.values() if default is not None]
    return ast.Lambda(ast.arguments([], given, None, [], [], None, defaults), body)


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads outside of what is quoted."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def number(value: float) -> str:
    """A number as a person writes it, that reads back as the same float."""
    if not math.isfinite(value):
        return f"float('{float(value)}')"
    if not value or abs(value) >= 1e-3:
        return repr(float(value)).replace("e+", "e")
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:]))
    mantissa = f"{first}.{rest}" if rest else f"{first}"
    return f"{'-' * sign}{mantissa}e{int(exponent) + len(rest)}"


def in_one_line(node: ast.expr) -> str:
    """The source of an expression that has nothing quoted of several lines."""
    return plain(written(node))


def plain(text: Text) -> str:
    """A text with what is quoted as it reads."""
    return "".join(part.text if isinstance(part, Quoted) else part for part in text)


def statement(start: str, node: ast.expr, indent: int = 0) -> str:
    """``start`` and an expression, in lines that fit."""
    lines = in_lines(start + in_one_line(node), " " * 4, WIDTH - indent)
    return textwrap.indent(lines, " " * indent)


def written(node: ast.expr) -> Text:
    """An expression in one line, but for what is quoted in several."""
    quoted: list[Quoted] = []
    # A name is written as it is, whatever it is.
    parts = ast.unparse(_with_names(node, quoted)).split("\0")
    texts = (quoted[int(each)] if index % 2 else each for index, each in enumerate(parts))
    return tuple(text for text in texts if text)


def _with_names(node: Any, quoted: list[Quoted]) -> Any:
    """An expression with names for what is quoted in it, and for strings and numbers.

    Args:
      node: a node, or what is in a field of one.
      quoted: gets what is quoted in it.
    """
    match node:
        case list():
            return [_with_names(part, quoted) for part in node]
        case Quoted():
            quoted.append(node)
            return ast.Name(f"\0{len(quoted) - 1}\0")
        case ast.Constant(value=str()):
            return ast.Name(json.dumps(node.value, ensure_ascii=False))
        case ast.Constant(value=float() as value):
            return ast.Name(number(value))
        case ast.AST():
            fields = {name: _with_names(each, quoted) for name, each in ast.iter_fields(node)}
            return type(node)(**fields)
    return node

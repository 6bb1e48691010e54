"""Makes expressions as syntax trees, and writes them in lines of bearable length.

All optax code of this package, in warnings and in programs, is written here. Code of the program
itself stays unchanged: in the tree and in the text, such code is a ``Quoted``.
"""

from __future__ import annotations

import ast
import json
import math
import textwrap
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from flaxoptim_compat.line_breaks import in_lines

WIDTH = 88


class Quoted(ast.expr):
    """Text that is written unchanged.

    Args:
      text: the text.
      origin: the place that the text comes from, for the code that puts texts together.
    """

    _fields = ()

    def __init__(self, text: str, origin: Any = None) -> None:
        super().__init__()
        self.text = text
        self.origin = origin


# A written text, in parts: text of this package, and quoted code.
Text = tuple[str | Quoted, ...]


def called(function: ast.expr | str, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    """A call of a function, which may be given by its dotted name."""
    function = dotted(function) if isinstance(function, str) else function
    named = [ast.keyword(arg=name, value=value) for name, value in keywords.items()]
    return ast.Call(function, list(args), named)


def dotted(name: str) -> ast.expr:
    """The syntax tree of a name with dots."""
    node: ast.expr
    first, *attributes = name.split(".")
    node = ast.Name(first)
    for attribute in attributes:
        node = ast.Attribute(node, attribute)
    return node


def function(parameters: Iterable[str], body: ast.expr) -> ast.Lambda:
    """A lambda."""
    return ast.Lambda(ast.arguments([], [*map(ast.arg, parameters)], None, [], [], None, []), body)


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads, without those in quoted code."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def number(value: float) -> str:
    """A number as a person writes it; the text reads back as the same float."""
    if not math.isfinite(value):
        return f"float('{float(value)}')"
    if not value or abs(value) >= 1e-3:
        return repr(float(value)).replace("e+", "e")
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    first, decimals = digits[0], "".join(map(str, digits[1:]))
    mantissa = f"{first}.{decimals}" if decimals else f"{first}"
    return f"{'-' * sign}{mantissa}e{int(exponent) + len(decimals)}"


def in_one_line(node: ast.expr) -> str:
    """The source of an expression without quoted code of several lines."""
    return plain(written(node))


def plain(text: Text) -> str:
    """The text as a string, with the quoted code in it."""
    return "".join(part.text if isinstance(part, Quoted) else part for part in text)


def statement(start: str, node: ast.expr, indent: int = 0) -> str:
    """``start`` and an expression, broken into lines that fit."""
    lines = in_lines(start + in_one_line(node), " " * 4, WIDTH - indent)
    return textwrap.indent(lines, " " * indent)


def written(node: ast.expr) -> Text:
    """The text of an expression in one line, except for quoted code of several lines."""
    quoted: list[Quoted] = []
    # ast.unparse writes any text unchanged if it is a name.
    parts = ast.unparse(_with_names(node, quoted)).split("\0")
    texts = (quoted[int(each)] if index % 2 else each for index, each in enumerate(parts))
    return tuple(text for text in texts if text)


def _with_names(node: Any, quoted: list[Quoted]) -> Any:
    """The expression with names in place of quoted code, strings and numbers.

    Args:
      node: a node, or the value of a field of a node.
      quoted: a list that gets the quoted code.
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

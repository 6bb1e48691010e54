"""Expressions as syntax trees: made by hand, and written in lines of bearable length.

Everything this package writes in optax, in a warning as in a program, is laid out here. What a
program has of its own stays as it is: it is a ``Quoted`` in the tree, and in the text.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

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
    for each in rest:
        node = ast.Attribute(node, each)
    return node


def function(parameters: Mapping[str, ast.expr | None], body: ast.expr) -> ast.Lambda:
    """A lambda; those of its parameters that have defaults come last."""
    given = [ast.arg(name) for name in parameters]
    defaults = [default for default in parameters.values() if default is not None]
    return ast.Lambda(ast.arguments([], given, None, [], [], None, defaults), body)


def constant(value: Any) -> ast.expr:
    """A number, a truth value, None or a string."""
    return ast.Constant(value)


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads outside of what is quoted."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


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
    return plain(_flat(node))


def plain(text: Text) -> str:
    """A text with what is quoted as it reads."""
    return "".join(part.text if isinstance(part, Quoted) else part for part in text)


def statement(start: str, node: ast.expr, indent: int = 0) -> str:
    """``start`` and an expression, broken at its brackets where it is too long for a line."""
    return " " * indent + start + plain(laid_out(node, indent, len(start)))


def laid_out(
    node: ast.expr,
    indent: int = 0,
    before: int = 0,
    after: int = 0,
    step: int = 4,
    width: int = WIDTH,
) -> Text:
    """An expression, broken at its brackets where it is too long for a line.

    Args:
      node: the expression.
      indent: of the line that it will stand in.
      before: how many characters stand between the indentation and the expression.
      after: how many follow it on its last line.
      step: how much further what is in brackets is indented.
      width: how long lines may be.
    """
    return _Lines(step, width).of(node, indent, before, after)


class _Lines:
    """The lines of an expression, with ``step`` and ``width`` as in ``laid_out``."""

    def __init__(self, step: int, width: int) -> None:
        self._step = step
        self._width = width

    def of(self, node: ast.expr, indent: int, before: int, after: int) -> Text:
        """One node, on one line if it fits; the arguments are those of ``laid_out``."""
        text = _flat(node)
        if indent + before + _length(text) + after <= self._width:
            return text
        match node:
            case ast.Lambda():
                return self._lambda(node, indent, before, after)
            case ast.IfExp():
                lines = self._branches(node, indent + self._step)
                return _text("(\n", _joined("\n", lines), f"\n{' ' * indent})")
            case ast.Call(func=ast.Call() | ast.Lambda() as function) if _arguments(node) and (
                indent + before + _length(called := _flat_function(function)) + 1 <= self._width
            ):
                # Brackets break from the last one on, as long as the first line fits.
                return _text(called, "(", self._items(_arguments(node), indent, ")"))
            case ast.Call(func=ast.Call() | ast.Lambda()):
                end = self._called(node, indent, after)
                first_line = _length(_first_line(end))
                return _text(self._function(node.func, indent, before, first_line), end)
            case ast.Call():
                return _text(_flat(node.func), "(", self._items(_arguments(node), indent, ")"))
            case ast.BinOp(op=ast.Add()):
                left = _text(_flat(node.left), " + ")
                return _text(left, self.of(node.right, indent, before + _length(left), after))
            case ast.Dict():
                return _text("{", self._items(_entries(node), indent, "}"))
            case ast.Tuple():
                return _text("(", self._items([((), each) for each in node.elts], indent, ")"))
            case ast.List():
                return _text("[", self._items([((), each) for each in node.elts], indent, "]"))
        return text

    def _lambda(self, node: ast.Lambda, indent: int, before: int, after: int) -> Text:
        """A lambda, with a body on lines of its own if not even its beginning fits behind."""
        start = _start_of_lambda(node)
        body = self.of(node.body, indent, before + _length(start), after)
        if indent + before + _length(start) + _length(_first_line(body)) <= self._width:
            return _text(start, body)
        inner = indent + self._step
        body = self.of(node.body, inner, 0, 0)
        return _text(start, f"(\n{' ' * inner}", body, f"\n{' ' * indent})")

    def _function(self, node: ast.expr, indent: int, before: int, after: int) -> Text:
        """A call or a lambda that is called in turn."""
        if isinstance(node, ast.Call):
            return self.of(node, indent, before, after)
        text = _flat_function(node)
        if indent + before + _length(text) + after <= self._width:
            return text
        inner = indent + self._step
        return _text(f"(\n{' ' * inner}", self.of(node, inner, 0, 0), f"\n{' ' * indent})")

    def _called(self, node: ast.Call, indent: int, after: int) -> Text:
        """The brackets of a call after what may be another one, which ends on a line of its own."""
        text = _text("(", _listed(_arguments(node)), ")")
        if indent + 1 + _length(text) + after <= self._width:
            return text
        return _text("(", self._items(_arguments(node), indent, ")"))

    def _branches(self, node: ast.IfExp, indent: int) -> list[Text]:
        """The lines of a conditional expression, each further condition like the first."""
        start = " " * indent
        lines = [_text(start, _flat(node.body)), _text(f"{start}if ", _flat(node.test))]
        if isinstance(node.orelse, ast.IfExp):
            first, *rest = self._branches(node.orelse, indent)
            return [*lines, _text(f"{start}else ", *_without_indent(first)), *rest]
        return [*lines, _text(f"{start}else ", _flat(node.orelse))]

    def _items(self, items: Sequence[_Item], indent: int, end: str) -> Text:
        """What stands between two brackets, and the closing one."""
        line = _listed(items)
        inner = indent + self._step
        # A comma after the only element is what makes a tuple.
        if inner + _length(line) <= self._width and len(items) > 1:
            return _text(f"\n{' ' * inner}", line, f"\n{' ' * indent}{end}")
        lines = [
            _text(" " * inner, start, self.of(value, inner, _length(start), 1), ",")
            for start, value in items
        ]
        return _text("\n", _joined("\n", lines), f"\n{' ' * indent}{end}")


# A value between brackets, and what stands before it.
_Item = tuple[Text, ast.expr]


def _arguments(node: ast.Call) -> list[_Item]:
    """What a call is given."""
    values: list[_Item] = [((), value) for value in node.args]
    return values + [((f"{keyword.arg}=",), keyword.value) for keyword in node.keywords]


def _entries(node: ast.Dict) -> list[_Item]:
    pairs = zip(node.keys, node.values, strict=True)
    return [(_text(_flat(key), ": "), value) for key, value in pairs if key is not None]


def _listed(items: Sequence[_Item]) -> Text:
    return _joined(", ", [_text(start, _flat(value)) for start, value in items])


def _start_of_lambda(node: ast.Lambda) -> Text:
    names = [each.arg for each in node.args.args]
    defaults = node.args.defaults
    plain_names = [_text(name) for name in names[: len(names) - len(defaults)]]
    rest = names[len(plain_names) :]
    with_defaults = [
        _text(f"{name}=", _flat(default)) for name, default in zip(rest, defaults, strict=True)
    ]
    return _text("lambda ", _joined(", ", plain_names + with_defaults), ": ")


def _flat(node: ast.expr) -> Text:
    """An expression in one line, but for what is quoted in several."""
    match node:
        case Quoted():
            return (node,)
        case ast.Constant(value=str()):
            return (json.dumps(node.value, ensure_ascii=False),)
        case ast.Constant(value=float() as value):
            return (number(value),)
        case ast.Attribute():
            return _text(_flat(node.value), f".{node.attr}")
        case ast.Call():
            return _text(_flat_function(node.func), "(", _listed(_arguments(node)), ")")
        case ast.Lambda():
            return _text(_start_of_lambda(node), _flat(node.body))
        case ast.IfExp():
            branches = (_flat(node.body), " if ", _flat(node.test), " else ", _flat(node.orelse))
            return _text(*branches)
        case ast.BinOp(op=ast.Add()):
            return _text(_flat(node.left), " + ", _flat(node.right))
        case ast.Dict():
            return _text("{", _listed(_entries(node)), "}")
        case ast.List() | ast.Tuple():
            start, end = "[]" if isinstance(node, ast.List) else "()"
            comma = "," if isinstance(node, ast.Tuple) and len(node.elts) == 1 else ""
            return _text(start, _joined(", ", map(_flat, node.elts)), comma, end)
    return (ast.unparse(node),)


def _flat_function(node: ast.expr) -> Text:
    """What is called, in one line: a lambda in brackets."""
    return _text("(", _flat(node), ")") if isinstance(node, ast.Lambda) else _flat(node)


def _text(*parts: str | Quoted | Text) -> Text:
    """Parts one after the other, with neighbours that are strings as one."""
    found: list[str | Quoted] = []
    for part in parts:
        for each in part if isinstance(part, tuple) else (part,):
            if isinstance(each, str) and found and isinstance(found[-1], str):
                found[-1] += each
            else:
                found.append(each)
    return tuple(found)


def _joined(separator: str, texts: Iterable[Text]) -> Text:
    parts: list[str | Text] = []
    for text in texts:
        parts += [separator, text] if parts else [text]
    return _text(*parts)


def _length(text: Text) -> int:
    """How long a line with this text is; of what has several lines, the longest counts."""
    return sum(
        max(map(len, part.text.split("\n"))) if isinstance(part, Quoted) else len(part)
        for part in text
    )


def _first_line(text: Text) -> Text:
    """The text up to the first line break of this package."""
    first: list[str | Quoted] = []
    for part in text:
        if isinstance(part, str) and "\n" in part:
            return (*first, part.split("\n")[0])
        first.append(part)
    return tuple(first)


def _without_indent(text: Text) -> Text:
    first, *rest = text
    return (first.lstrip() if isinstance(first, str) else first, *rest)

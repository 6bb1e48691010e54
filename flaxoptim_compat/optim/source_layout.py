"""Source text in lines of bearable length, laid out as formatters do it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

WIDTH = 88


def statement(start: str, expression: str, indent: int = 0) -> str:
    """``start`` and an expression, broken at its brackets where it is too long for a line."""
    return " " * indent + start + _Lines(expression).of_all(indent, len(start), 0)


def expression(
    source: str, indent: int, before: int, after: int, step: int = 4, width: int = WIDTH
) -> str:
    """An expression, broken at its brackets where it is too long for a line.

    Args:
      source: the expression.
      indent: of the line that it will stand in.
      before: how many characters stand between the indentation and the expression.
      after: how many follow it on its last line.
      step: how much further what is in brackets is indented.
      width: how long lines may be.
    """
    return _Lines(source, step, width).of_all(indent, before, after)


class _Lines:
    """The lines of an expression."""

    def __init__(self, source: str, step: int = 4, width: int = WIDTH) -> None:
        self._source = source
        self._step = step
        self._width = width

    def of_all(self, indent: int, before: int, after: int) -> str:
        """The whole expression."""
        node = ast.parse(self._source, mode="eval").body
        return self._of(node, indent, before, after)

    def _of(self, node: ast.expr, indent: int, before: int, after: int) -> str:
        """One node, on one line if it fits.

        Args:
          node: the node.
          indent: of the line that the node stands in.
          before: how many characters stand between the indentation and the node.
          after: how many follow it on its last line.
        """
        text = self._text(node)
        if indent + before + len(text) + after <= self._width:
            return text
        match node:
            case ast.Lambda():
                start = f"lambda {ast.unparse(node.args)}: "
                return start + self._of(node.body, indent, before + len(start), after)
            case ast.IfExp():
                lines = self._branches(node, indent + self._step)
                return "\n".join(["(", *lines, f"{' ' * indent})"])
            case ast.Call(func=ast.Call() | ast.Lambda()):
                end = self._called(node, indent, after)
                return self._function(node.func, indent, before, len(end.split("\n")[0])) + end
            case ast.Call():
                return f"{ast.unparse(node.func)}(" + self._items(_arguments(node), indent, ")")
            case ast.Dict():
                pairs = zip(node.keys, node.values, strict=True)
                values = [(f"{self._text(key)}: ", value) for key, value in pairs if key]
                return "{" + self._items(values, indent, "}")
            case ast.Tuple():
                return "(" + self._items([("", each) for each in node.elts], indent, ")")
            case ast.List():
                return "[" + self._items([("", each) for each in node.elts], indent, "]")
        return text

    def _function(self, node: ast.expr, indent: int, before: int, after: int) -> str:
        """A call or a lambda that is called in turn."""
        if isinstance(node, ast.Call):
            return self._of(node, indent, before, after)
        text = f"({self._text(node)})"
        if indent + before + len(text) + after <= self._width:
            return text
        inner = indent + self._step
        return f"(\n{' ' * inner}{self._of(node, inner, 0, 0)}\n{' ' * indent})"

    def _called(self, node: ast.Call, indent: int, after: int) -> str:
        """The brackets of a call after what may be another one, which ends on a line of its own."""
        values = _arguments(node)
        text = f"({', '.join(f'{start}{self._text(value)}' for start, value in values)})"
        if indent + 1 + len(text) + after <= self._width:
            return text
        return "(" + self._items(values, indent, ")")

    def _branches(self, node: ast.IfExp, indent: int) -> list[str]:
        """The lines of a conditional expression, each further condition like the first."""
        start = " " * indent
        lines = [f"{start}{self._text(node.body)}", f"{start}if {self._text(node.test)}"]
        if isinstance(node.orelse, ast.IfExp):
            rest = self._branches(node.orelse, indent)
            return [*lines, f"{start}else {rest[0].lstrip()}", *rest[1:]]
        return [*lines, f"{start}else {self._text(node.orelse)}"]

    def _items(self, values: Sequence[tuple[str, ast.expr]], indent: int, end: str) -> str:
        """What stands between two brackets, and the closing one."""
        texts = [f"{start}{self._text(node)}" for start, node in values]
        line = ", ".join(texts)
        inner = indent + self._step
        # A comma after the only element is what makes a tuple.
        if inner + len(line) <= self._width and len(values) > 1:
            return f"\n{' ' * inner}{line}\n{' ' * indent}{end}"
        lines = [
            f"{' ' * inner}{start}{self._of(node, inner, len(start), 1)}," for start, node in values
        ]
        return "\n".join(["", *lines, f"{' ' * indent}{end}"])

    def _text(self, node: ast.expr) -> str:
        text = ast.get_source_segment(self._source, node)
        assert text is not None
        return text


def _arguments(node: ast.Call) -> list[tuple[str, ast.expr]]:
    """What a call is given, each with what stands before its value."""
    values = [("", value) for value in node.args]
    return values + [(f"{keyword.arg}=", keyword.value) for keyword in node.keywords]

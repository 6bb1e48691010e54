"""Source text in lines of bearable length, laid out as formatters do it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

WIDTH = 88


def statement(start: str, expression: str, indent: int = 0) -> str:
    """``start`` and an expression, broken at its brackets where it is too long for a line."""
    node = ast.parse(expression, mode="eval").body
    return " " * indent + start + _laid_out(expression, node, indent, len(start), 0)


def _laid_out(source: str, node: ast.expr, indent: int, before: int, after: int) -> str:
    """One node, on one line if it fits.

    Args:
      source: the text that the node was parsed from.
      node: the node.
      indent: of the line that the node stands in.
      before: how many characters stand between the indentation and the node.
      after: how many follow it on its last line.
    """
    text = ast.get_source_segment(source, node)
    assert text is not None
    if indent + before + len(text) + after <= WIDTH:
        return text
    match node:
        case ast.Lambda():
            start = f"lambda {ast.unparse(node.args)}: "
            return start + _laid_out(source, node.body, indent, before + len(start), after)
        case ast.Call(func=ast.Call()):
            end = text[len(ast.get_source_segment(source, node.func) or "") :]
            return _laid_out(source, node.func, indent, before, len(end) + after) + end
        case ast.Call():
            start = f"{ast.unparse(node.func)}("
            values = [("", value) for value in node.args]
            values += [(f"{keyword.arg}=", keyword.value) for keyword in node.keywords]
            return start + _items(source, values, indent, ")")
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            values = [
                (f"{ast.get_source_segment(source, key)}: ", value) for key, value in pairs if key
            ]
            return "{" + _items(source, values, indent, "}")
        case ast.Tuple():
            return "(" + _items(source, [("", each) for each in node.elts], indent, ")")
        case ast.List():
            return "[" + _items(source, [("", each) for each in node.elts], indent, "]")
    return text


def _items(source: str, values: Sequence[tuple[str, ast.expr]], indent: int, end: str) -> str:
    """What stands between two brackets, and the closing one."""
    texts = [f"{start}{ast.get_source_segment(source, node)}" for start, node in values]
    line = ", ".join(texts)
    inner = indent + 4
    # A comma after the only element is what makes a tuple.
    if inner + len(line) <= WIDTH and len(values) > 1:
        return f"\n{' ' * inner}{line}\n{' ' * indent}{end}"
    lines = [
        f"{' ' * inner}{start}{_laid_out(source, node, inner, len(start), 1)},"
        for start, node in values
    ]
    return "\n".join(["", *lines, f"{' ' * indent}{end}"])

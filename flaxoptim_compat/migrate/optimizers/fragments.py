"""The pieces that edits about optimizers are put together from."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flaxoptim_compat.migrate.editing.edits import Deeper, Edit, Fragment, Fragments, Span
from flaxoptim_compat.migrate.editing.surroundings import Surroundings, margin_of
from flaxoptim_compat.migrate.optimizers.reading import Reading


def replaced(reading: Reading, node: ast.expr, *text: Fragment) -> Edit:
    """An expression that becomes this text."""
    start, end = reading.document.span(node)
    return Edit(start, end, text)


def value(reading: Reading, node: ast.expr) -> Fragments:
    """An expression as the value of a keyword, in brackets if it needs them there."""
    bare = isinstance(node, ast.NamedExpr | ast.Yield | ast.YieldFrom)
    return ("(", span(reading, node), ")") if bare else (span(reading, node),)


def owner(reading: Reading, node: ast.expr) -> Fragments:
    """An expression in front of a dot, in brackets if it needs them there."""
    whole = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return (span(reading, node),) if whole else ("(", span(reading, node), ")")


def span(reading: Reading, node: ast.expr | ast.keyword) -> Span:
    """The place of a node, with what other rules make of it."""
    return Span(*reading.document.span(node))


def renamed_attribute(reading: Reading, node: ast.Attribute, new: str) -> Edit:
    """Another name for an attribute; what stands before its dot is not touched."""
    end = reading.document.span(node)[1]
    return Edit(end - len(node.attr), end, (new,))


def renamed_string(reading: Reading, node: ast.Constant, new: str) -> Edit:
    """Another name in a string, whose quotes stay."""
    start, end = reading.document.span(node)
    old = str(node.value)
    at = reading.document.text.find(old, start, end)
    if at < 0:  # it is written in pieces
        return Edit(start, end, (f'"{new}"',))
    return Edit(at, at + len(old), (new,))


def laid_out(
    reading: Reading,
    surroundings: Surroundings,
    start: Fragments,
    arguments: Sequence[Fragments],
    end: Fragments,
) -> Fragments:
    """``start``, arguments and ``end``, with a line for each argument where one line is too long.

    Args:
      reading: the file.
      surroundings: where the text will stand.
      start: ends with an opening bracket.
      arguments: what stands between the brackets.
      end: starts with the closing one.
    """
    on_one_line: list[Fragment] = [*start]
    for index, argument in enumerate(arguments):
        on_one_line += [", "] * bool(index) + [*argument]
    on_one_line += end
    length = sum(map(_length, on_one_line))
    if surroundings.start + length + surroundings.after <= surroundings.width:
        return tuple(on_one_line)
    margin = f"\n{surroundings.margin}"
    result: list[Fragment] = [*start]
    for argument in arguments:
        deeper = (_deeper(reading, surroundings, each) for each in argument)
        # A comma after a single argument would be noise.
        result += [margin, surroundings.unit, *deeper, "," if len(arguments) > 1 else ""]
    return (*result, margin, *end)


def _length(part: Fragment) -> int:
    span = part.span if isinstance(part, Deeper) else part
    return len(span) if isinstance(span, str) else span.end - span.start


def _deeper(reading: Reading, surroundings: Surroundings, part: Fragment) -> Fragment:
    """A part on a line of its own within brackets, where it stood on the line of these before."""
    if not isinstance(part, Span):
        return part
    line, _ = reading.document.position(part.start)
    stood_here = margin_of(reading.document.lines[line - 1]) == surroundings.margin
    return Deeper(part, surroundings.unit) if stood_here else part

"""The findings of the rules about optimizers, and the edits that several of them make."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Sequence

from flaxoptim_compat.catalogue import RATE
from flaxoptim_compat.migrate.editing.edits import Edit, Parts, Span
from flaxoptim_compat.migrate.editing.finding import Change, Finding, Reading
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.surroundings import Surroundings
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.uses import MIXED, Use
from flaxoptim_compat.migrate.values.objects import Optimizer


def replaced(reading: Reading, node: ast.expr, *parts: str | Span) -> Edit:
    """An expression that becomes these parts."""
    start, end = reading.document.span(node)
    return Edit(start, end, parts)


def value(reading: Reading, node: ast.expr) -> Parts:
    """An expression as the value of a keyword, in brackets if it needs them there."""
    bare = isinstance(node, ast.NamedExpr | ast.Yield | ast.YieldFrom)
    return ("(", span(reading, node), ")") if bare else (span(reading, node),)


def owner(reading: Reading, node: ast.expr) -> Parts:
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


def laid_out(
    reading: Reading, place: Surroundings, start: Parts, arguments: Sequence[Parts], end: Parts
) -> Parts:
    """``start``, arguments and ``end``, with a line for each argument where one line is too long.

    Args:
      reading: the file.
      place: where the text will stand.
      start: ends with an opening bracket.
      arguments: what stands between the brackets.
      end: starts with the closing one.
    """
    lines = reading.document.lines
    on_one_line: list[str | Span] = [*start]
    for index, argument in enumerate(arguments):
        on_one_line += [", "] * bool(index) + [*argument]
    on_one_line += end
    length = sum(
        len(part) if isinstance(part, str) else part.end - part.start for part in on_one_line
    )
    # A file whose lines are longer has a formatter that allows it.
    width = max(place.width, min(100, max(len(line) - 1 for line in lines)))
    if place.start + length + place.after <= width:
        return tuple(on_one_line)
    margin = f"\n{place.margin}"
    result: list[str | Span] = [*start]
    for argument in arguments:
        # A comma after a single argument would be noise.
        result += [margin, place.unit, *argument, "," if len(arguments) > 1 else ""]
    return (*result, margin, *end)


_OPTIMIZER = "flaxoptim_compat.optim:Optimizer"


def bridge_edits(reading: Reading, use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
    """The edits that turn a TrainState into its optimizer, and the result back if it is one.

    Args:
      reading: the file.
      use: what the optimizer does.
      unit: what it belongs to.
      imports: those of the result.
    """
    optimizer = imports.name_of(_OPTIMIZER, use.node)
    receiver = _receiver(reading, use.node)
    there = replaced(
        reading, receiver, f"{optimizer}.from_train_state(", span(reading, receiver), ")"
    )
    return (there, back_edit(reading, use.node, unit)) if use.bridge == "returns" else (there,)


def back_edit(reading: Reading, call: ast.expr, unit: Unit) -> Edit:
    """The edit that makes a TrainState of the optimizer that a call returns."""
    end = reading.document.span(call)[1]
    # A definition without a rate needs one to start from, which every step replaces.
    rate = f"{RATE}=0.0" if unit.lacks_rate else ""
    return Edit(end - 1, end, (f").to_train_state({rate})",))


def _receiver(reading: Reading, node: ast.expr) -> ast.expr:
    """The optimizer that something is asked of."""
    assert reading.facts is not None
    inner = node.func if isinstance(node, ast.Call) else node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
        if any(isinstance(each, Optimizer) for each in reading.facts.points_to.values(inner)):
            break
    return inner


# The edits for a use in a unit that is rewritten, with the imports of the result.
EditsOf = Callable[[Use, Unit, ImportPlan], tuple[Edit, ...]]


def findings(
    reading: Reading,
    code: str,
    what: str,
    instead: str,
    edits_of: EditsOf,
    drops: Callable[[Use, Unit], bool] = lambda use, unit: False,
) -> Iterator[Finding]:
    """One finding for each use under a rule, with its edits if its unit is rewritten.

    Args:
      reading: the file.
      code: the rule.
      what: what stands there.
      instead: what replaces it.
      edits_of: the edits for a use in a unit that is rewritten.
      drops: whether the names in a use are gone with them.
    """
    if reading.facts is None:
        return
    for use, unit in reading.facts.of(code, reading.document):
        if reading.allows(code, use.node):
            yield finding(reading, code, use, unit, what, instead, edits_of, drops)


def finding(
    reading: Reading,
    code: str,
    use: Use,
    unit: Unit,
    what: str,
    instead: str,
    edits_of: EditsOf,
    drops: Callable[[Use, Unit], bool] = lambda use, unit: False,
) -> Finding:
    """The finding of one use."""
    start, end = reading.document.span(use.node)
    if unit.converts and use in unit.bridged:
        instead = f"the same, of the optimizer that the TrainState stands for: {use.problem}"
        change = Change(functools.partial(bridge_edits, reading, use, unit))
        return Finding(code, start, end, what, instead, optax=change)
    if unit.converts:
        gone = (use.node,) if drops(use, unit) else ()
        change = Change(functools.partial(edits_of, use, unit), drops=gone)
        return Finding(code, start, end, what, instead, optax=change)
    own = next((each for each in unit.problems if each.node is use.node), None)
    first = unit.problems[0]
    if own is not None and own.problem == MIXED:
        first = next(each for each in unit.problems if each.problem == MIXED)
        if own is not first:
            # What both comes to is meant to, and is one thing to settle, in however many places.
            instead = f"as in {_line(use, first)}: {MIXED}"
            return Finding(code, start, end, what, instead, optax=None)
    if own is not None:
        return Finding(code, start, end, what, own.problem, optax=None, reason=own.problem)
    instead = f"{instead}; it stays, because of {_line(use, first)}"
    return Finding(code, start, end, what, instead, optax=None, cause=first.problem)


def _line(use: Use, other: Use) -> str:
    """The line of another use, as it is named beside this one."""
    line = other.document.position(other.start)[0]
    return f"line {line}" if other.document is use.document else f"{other.document.path}:{line}"

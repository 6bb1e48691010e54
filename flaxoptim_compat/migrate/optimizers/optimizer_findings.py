"""The findings of the rules about optimizers, and the edits that several of them make."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Sequence

from flaxoptim_compat.catalogue import RATE
from flaxoptim_compat.migrate.editing.edits import Edit, Fragments, Span
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.surroundings import Surroundings, surroundings_of
from flaxoptim_compat.migrate.optax_text.binding import Bound
from flaxoptim_compat.migrate.optax_text.text import Part, chain, partition
from flaxoptim_compat.migrate.optimizers.definitions import parts_of, selecting
from flaxoptim_compat.migrate.optimizers.hyper_params_in_code import bound_of
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import MIXED, Use
from flaxoptim_compat.migrate.values.objects import Optimizer, Site
from flaxoptim_compat.migrate.values.points_to import PointsTo


def replaced(reading: Reading, node: ast.expr, *text: str | Span) -> Edit:
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
    lines = reading.document.lines
    on_one_line: list[str | Span] = [*start]
    for index, argument in enumerate(arguments):
        on_one_line += [", "] * bool(index) + [*argument]
    on_one_line += end
    length = sum(
        len(part) if isinstance(part, str) else part.end - part.start for part in on_one_line
    )
    # A file whose lines are longer has a formatter that allows it.
    width = max(surroundings.width, min(100, max(len(line) - 1 for line in lines)))
    if surroundings.start + length + surroundings.after <= width:
        return tuple(on_one_line)
    margin = f"\n{surroundings.margin}"
    result: list[str | Span] = [*start]
    for argument in arguments:
        # A comma after a single argument would be noise.
        result += [margin, surroundings.unit, *argument, "," if len(arguments) > 1 else ""]
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
    edits = [there]
    if use.axis:
        assert isinstance(use.node, ast.Call)
        grads = _gradients(use.node)
        edits.append(replaced(reading, grads, *_averaged(reading, use, grads, imports)))
    if use.bridge == "returns":
        edits.append(back_edit(reading, use.node, unit))
    return tuple(edits)


def _gradients(step: ast.Call) -> ast.expr:
    return [*step.args, *(each.value for each in step.keywords if each.arg == "grads")][0]


def _averaged(reading: Reading, use: Use, grads: ast.expr, imports: ImportPlan) -> Fragments:
    """The gradients of a step as it takes them: averaged over the devices, or as they are."""
    if not use.axis:
        return value(reading, grads)
    pmean = imports.name_of("jax:lax.pmean", use.node)
    return (f"{pmean}(", *value(reading, grads), f', "{use.axis}")')


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
    here = (each for each in unit.problems if each.node is use.node)
    own = next((each for each in here if each.code == use.code), None)
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


# They may need other brackets as the value of a keyword than as the only argument.
_BRACKETED = (ast.GeneratorExp, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def step_edits(reading: Reading, use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
    """The edits of one call of ``apply_gradient``.

    Args:
      reading: the file.
      use: the call.
      unit: what it belongs to.
      imports: those of the result.
    """
    call = use.node
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    receiver = span(reading, call.func.value)
    given = [each for each in call.keywords if each.arg != "grads"]
    grads = _gradients(call)
    values = _values_of_step(reading, use, unit, given)
    if not values and not given and not use.axis and not isinstance(grads, _BRACKETED):
        # Only the name changes, and all that stands between the brackets stays as it is.
        return (*_step_renamed(reading, call.func), *_grads_named(reading, call))
    surroundings = surroundings_of(reading.document, call)
    named: Fragments = ("grads=", *_averaged(reading, use, grads, imports))
    if not values:
        start = (*owner(reading, call.func.value), ".apply_gradients(")
        text = laid_out(reading, surroundings, start, [named], (")",))
        return (replaced(reading, call, *text),)
    optax = imports.name_of("optax", call)
    arguments: list[Fragments] = [(receiver, ".opt_state")]
    arguments += [(f"{name}=", *given_value) for name, given_value in values]
    setting = laid_out(
        reading,
        surroundings.inside(),
        (f"opt_state={optax}.tree_utils.tree_set(",),
        arguments,
        (")",),
    )
    end: Fragments = (").apply_gradients(", *named, ")")
    text = laid_out(reading, surroundings, (receiver, ".replace("), [setting], end)
    return (replaced(reading, call, *text),)


def _values_of_step(
    reading: Reading, use: Use, unit: Unit, given: Sequence[ast.keyword]
) -> list[tuple[str, Fragments]]:
    """The hyper-parameters that the step sets in the state, by name."""
    if unit.part_rates is not None:
        by_name = unit.part_rates.values[use.node]
        return [(name, value(reading, node)) for name, node in by_name.items()]
    values = [
        (str(each.arg), value(reading, each.value))
        for each in given
        if unit.schedule is None or each.arg != RATE
    ]
    if unit.default_rate is not None and RATE not in use.overrides:
        # What was set for the step before is still there.
        values.append((RATE, (ast.unparse(unit.default_rate),)))
    return values


def _step_renamed(reading: Reading, function: ast.Attribute) -> tuple[Edit, ...]:
    end = reading.document.span(function)[1]
    return (Edit(end - len("apply_gradient"), end, ("apply_gradients",)),)


def _grads_named(reading: Reading, call: ast.Call) -> tuple[Edit, ...]:
    if not call.args:
        return ()
    start = reading.document.span(call.args[0])[0]
    # A bracket around the argument is not a part of its node.
    opening = reading.document.text.index("(", reading.document.span(call.func)[1])
    between = reading.document.text[opening + 1 : start]
    at = opening + 1 if "(" in between else start
    return (Edit(at, at, ("grads=",)),)


def definition_text(
    reading: Reading,
    points_to: PointsTo,
    site: Site,
    unit: Unit,
    imports: ImportPlan,
    surroundings: Surroundings | None = None,
    focus: ast.expr | None = None,
) -> Fragments:
    """The optax expression for a constructor call.

    Args:
      reading: the file that the call stands in.
      points_to: what is known of the program.
      site: the call.
      unit: what it belongs to.
      imports: those of the result.
      surroundings: where the expression will stand; None: in the place of the call.
      focus: what selects the parameters that it moves; None: it moves them all.
    """
    surroundings = surroundings or surroundings_of(site.document, site.node)

    def name_of(dotted: str) -> str:
        return imports.name_of(dotted, site.node)

    schedule: Fragments | None = None
    injected = list(unit.overrides)
    if unit.schedule is not None:
        schedule = (Span(*reading.document.span(unit.schedule)),)
        injected.remove(RATE)
    plain = reading.accept_changes
    if site.name == "MultiOptimizer":
        by_part = None if unit.part_rates is None else unit.part_rates.names
        parts = parts_of(points_to, site, injected, schedule, by_part)
        return partition(parts, site.document, name_of, surroundings, plain, reading.releases)
    bound = bound_of(points_to, site)
    assert isinstance(bound, Bound)
    if focus is None:
        return chain(bound, site.document, name_of, injected, schedule, surroundings, plain=plain)
    names = {name: name for name in injected}
    part = Part(selecting(points_to, focus), bound, injected=names, schedule=schedule)
    return partition([part], site.document, name_of, surroundings, plain, reading.releases)

"""The text of a step: ``apply_gradients``, with the hyper-parameters that the call gives."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flaxoptim_compat.catalogue import RATE
from flaxoptim_compat.migrate.editing.edits import Edit, Parts
from flaxoptim_compat.migrate.editing.finding import Reading
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.surroundings import surroundings_of
from flaxoptim_compat.migrate.optimizers.findings import laid_out, owner, replaced, span, value
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.uses import Use

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
    grads = [*call.args, *(each.value for each in call.keywords if each.arg == "grads")][0]
    values = _values(reading, use, unit, given)
    if not values and not given and not isinstance(grads, _BRACKETED):
        # Only the name changes, and all that stands between the brackets stays as it is.
        return (*_renamed(reading, call.func), *_grads_named(reading, call))
    end: Parts = (".apply_gradients(grads=", *value(reading, grads), ")")
    if not values:
        return (replaced(reading, call, *owner(reading, call.func.value), *end),)
    optax = imports.name_of("optax", call)
    arguments: list[Parts] = [(receiver, ".opt_state")]
    arguments += [(f"{name}=", *given_value) for name, given_value in values]
    place = surroundings_of(reading.document, call)
    setting = laid_out(
        reading, place.inside(), (f"opt_state={optax}.tree_utils.tree_set(",), arguments, (")",)
    )
    parts = laid_out(reading, place, (receiver, ".replace("), [setting], (")", *end))
    return (replaced(reading, call, *parts),)


def _values(
    reading: Reading, use: Use, unit: Unit, given: Sequence[ast.keyword]
) -> list[tuple[str, Parts]]:
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


def _renamed(reading: Reading, function: ast.Attribute) -> tuple[Edit, ...]:
    end = reading.document.span(function)[1]
    return (Edit(end - len("apply_gradient"), end, ("apply_gradients",)),)


def _grads_named(reading: Reading, call: ast.Call) -> tuple[Edit, ...]:
    if not call.args:
        return ()
    start = reading.document.span(call.args[0])[0]
    # A bracket around the argument is not a part of its node.
    opening = reading.document.text.index("(", reading.document.span(call.func)[1])
    between = reading.document.text[opening + 1 : start]
    place = opening + 1 if "(" in between else start
    return (Edit(place, place, ("grads=",)),)

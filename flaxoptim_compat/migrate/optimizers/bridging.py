"""Uses that the optimizer does for which a TrainState stands, whose definition stays."""

from __future__ import annotations

import ast

from flaxoptim_compat.catalogue import RATE
from flaxoptim_compat.migrate.edits import Edit
from flaxoptim_compat.migrate.imports import ImportPlan
from flaxoptim_compat.migrate.optimizers.expression_edits import replaced, span
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.values.objects import Optimizer

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

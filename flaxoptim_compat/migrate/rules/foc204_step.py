"""FOC204: ``optimizer.state.step`` is ``state.step``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule("FOC204", "step")


def _use(asked: Asked) -> Use | None:
    match asked.document.parents[asked.node]:
        case ast.Attribute(attr="step", ctx=ast.Load()) as step:
            return asked.use(RULE.code, node=step)
    return None


RECOGNISES = Recognises({Optimizer: {"state": _use}})


def find(reading: Reading) -> Iterator[Finding]:
    """Each place where the step is read."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit, imports
        assert isinstance(use.node, ast.Attribute)
        # The expression before `.state` may have brackets, which belong to no node.
        text, end = reading.document.text, reading.document.span(use.node.value)[1]
        return (Edit(text.rindex(".", 0, end - len("state")), end, ("",)),)

    yield from findings(reading, RULE.code, "the step of an optimizer", ".step", edits_of)

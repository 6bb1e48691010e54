"""FOC207: ``optimizer.replace(target=params)`` is ``state.replace(params=params)``."""

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
from flaxoptim_compat.migrate.rules.table_of_uses_that_stay import OTHER_STRUCTURE
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule("FOC207", "replace")


def _use(asked: Asked) -> Use:
    call = asked.call
    if call is None or call.args or not call.keywords:
        return asked.use(RULE.code, "The arguments of `replace` are not written out by name.")
    for each in call.keywords:
        if each.arg not in ("target", "state"):
            problem = f"A TrainState has no `{each.arg or '**'}` to replace."
            return asked.use(RULE.code, problem, call)
    sets_state = any(each.arg == "state" for each in call.keywords)
    problem = OTHER_STRUCTURE.format("state") if sets_state else ""
    return asked.use(RULE.code, problem, call, bridge="returns")


RECOGNISES = Recognises({Optimizer: {"replace": _use}})


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of ``replace``."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit, imports
        # With a `state` it is the optimizer that does it.
        assert isinstance(use.node, ast.Call)
        (keyword,) = use.node.keywords
        start = reading.document.span(keyword)[0]
        return (Edit(start, start + len("target"), ("params",)),)

    yield from findings(
        reading, RULE.code, "fields of an optimizer are replaced", ".replace(params=...)", edits_of
    )

"""FOC203: ``optimizer.target`` is ``state.params``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import renamed_attribute
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule("FOC203", "target")


def _use(asked: Asked) -> Use:
    problem = "" if isinstance(asked.node.ctx, ast.Load) else "The program assigns to `target`."
    return asked.use(RULE.code, problem)


RECOGNISES = Recognises({Optimizer: {"target": _use}})


def find(reading: Reading) -> Iterator[Finding]:
    """Each place where the parameters are read."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit, imports
        assert isinstance(use.node, ast.Attribute)
        return (renamed_attribute(reading, use.node, "params"),)

    yield from findings(reading, RULE.code, "the target of an optimizer", ".params", edits_of)

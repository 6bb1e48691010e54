"""FOC211: ``optimizer.replicate()`` and ``optimizer.unreplicate()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import replaced, span, value
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.foc210_state_dict import OTHER_ARGUMENTS
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.rules.table_of_steps import NOT_CALLED
from flaxoptim_compat.migrate.values.known_names import axis_of
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule("FOC211", "replicate-method")


def _use(asked: Asked) -> Use:
    call = asked.call
    if call is None:
        return asked.use(RULE.code, NOT_CALLED.format(asked.node.attr))
    problem = ""
    if asked.node.attr == "replicate":
        problem = "" if axis_of(call) else "The axis of `replicate` is not written out."
    elif call.args or call.keywords:
        problem = OTHER_ARGUMENTS.format(asked.node.attr)
    return asked.use(RULE.code, problem, call)


RECOGNISES = Recognises({Optimizer: {"replicate": _use, "unreplicate": _use}})


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of ``replicate`` or ``unreplicate``."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        call = use.node
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        function = imports.name_of(f"flax.jax_utils:{call.func.attr}", call)
        by_name = [each.value for each in call.keywords if each.arg == "devices"]
        devices: Fragments = ()
        for argument in [*call.args[:1], *by_name]:
            devices = (", devices=", *value(reading, argument))
        receiver = span(reading, call.func.value)
        return (replaced(reading, call, f"{function}(", receiver, *devices, ")"),)

    what = "copies of an optimizer on every device"
    instead = "flax.jax_utils, and jax.lax.pmean in the steps"
    yield from findings(reading, RULE.code, what, instead, edits_of)

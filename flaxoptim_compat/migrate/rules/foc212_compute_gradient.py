"""FOC212: ``optimizer.compute_gradient(loss_fn)`` is ``jax.value_and_grad``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import owner, replaced, span
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.steps import NOT_TAKEN_APART, taken_apart
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.foc210_state_dict import OTHER_ARGUMENTS
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule("FOC212", "compute-gradient")


def _use(asked: Asked) -> Use:
    call = asked.call
    if call is None or len(call.args) != 1 or call.keywords:
        return asked.use(RULE.code, OTHER_ARGUMENTS.format(asked.node.attr))
    problem = "" if taken_apart(asked.document, call) else NOT_TAKEN_APART
    return asked.use(RULE.code, problem, call, bridge="reads")


RECOGNISES = Recognises({Optimizer: {"compute_gradient": _use, "compute_gradients": _use}})


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of the method."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        call = use.node
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        statement = reading.document.parents[call]
        assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
        results = statement.targets[0].elts
        value_and_grad = imports.name_of("jax:value_and_grad", call)
        has_aux = len(results) == 3
        function = replaced(
            reading,
            call,
            f"{value_and_grad}(",
            span(reading, call.args[0]),
            f"{', has_aux=True' if has_aux else ''})(",
            *owner(reading, call.func.value),
            ".params)",
        )
        if not has_aux:
            return (function,)
        before = reading.document.span(results[0])[0]
        after = reading.document.span(results[1])[1]
        return (Edit(before, before, ("(",)), Edit(after, after, (")",)), function)

    what = "loss and gradient by the optimizer"
    yield from findings(reading, RULE.code, what, "jax.value_and_grad", edits_of)

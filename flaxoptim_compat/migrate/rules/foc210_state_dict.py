"""FOC210: ``optimizer.state_dict()`` and ``optimizer.restore_state(entries)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import renamed_string, replaced, span
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC210",
    name="state-dict",
    summary="the values of an optimizer as nested dicts, `optimizer.state_dict()`",
    what="`--to optax` writes `flax.serialization.to_state_dict(state)` and "
    '`from_state_dict(state, entries)`, and `"params"` for the entry `"target"`. `--to shim` '
    "leaves them.",
    why="They are what flax.optim called itself. The entries of a TrainState are `step`, "
    "`params` and `opt_state`, where an optimizer had `target` and `state`: FOC215.",
    refuses='Where the program reads or sets another entry, such as `state_dict()["state"]`: the '
    "optimizer then stays as it is.",
    examples=(
        Example(
            before="""\
from flax import optim


def copy(params):
    optimizer = optim.GradientDescent(0.1).create(params)
    return optimizer.restore_state(optimizer.state_dict())
""",
            optax="""\
import optax
from flax import serialization
from flax.training import train_state


def copy(params):
    optimizer = train_state.TrainState.create(
        apply_fn=None,
        tx=optax.sgd(0.1),
        params=params,
    )
    return serialization.from_state_dict(optimizer, serialization.to_state_dict(optimizer))
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of one of the two."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        call = use.node
        if isinstance(call, ast.Constant):
            return (renamed_string(reading, call, "params"),)
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        receiver = span(reading, call.func.value)
        if call.func.attr == "state_dict":
            function = imports.name_of("flax.serialization:to_state_dict", call)
            return (replaced(reading, call, f"{function}(", receiver, ")"),)
        function = imports.name_of("flax.serialization:from_state_dict", call)
        entries = span(reading, call.args[0])
        return (replaced(reading, call, f"{function}(", receiver, ", ", entries, ")"),)

    what = "the values of an optimizer as dicts"
    yield from findings(reading, RULE.code, what, "flax.serialization", edits_of)

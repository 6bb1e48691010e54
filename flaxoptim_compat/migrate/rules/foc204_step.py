"""FOC204: ``optimizer.state.step`` is ``state.step``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import owner, replaced
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC204",
    name="step",
    summary="the number of steps done, `optimizer.state.step`",
    what="`--to optax` writes `.step`, and `jnp.asarray(state.step, jnp.int32)` where the "
    "program asks the step for something, such as its dtype. `--to shim` leaves it.",
    why="Both count from 0, and one more with every step. A TrainState starts with a "
    "Python number; flax.optim had an int32 array.",
    refuses="",
    examples=(
        Example(
            before="""\
from flax import optim


def steps_done(params):
    optimizer = optim.GradientDescent(0.1).create(params)
    return int(optimizer.state.step)
""",
            optax="""\
import optax
from flax.training import train_state


def steps_done(params):
    optimizer = train_state.TrainState.create(
        apply_fn=None,
        tx=optax.sgd(0.1),
        params=params,
    )
    return int(optimizer.step)
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each place where the step is read."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        assert isinstance(use.node, ast.Attribute) and isinstance(use.node.value, ast.Attribute)
        state = use.node.value
        if isinstance(reading.document.parents[use.node], ast.Attribute):
            # A TrainState starts with a Python 0, which has no dtype and its like.
            asarray = imports.name_of("jax.numpy:asarray", use.node)
            int32 = imports.name_of("jax.numpy:int32", use.node)
            step: Fragments = (*owner(reading, state.value), ".step")
            return (replaced(reading, use.node, f"{asarray}(", *step, f", {int32})"),)
        # What stands before `.state` may have brackets, which belong to no node.
        end = reading.document.span(state)[1]
        start = reading.document.text.rindex(".", 0, end - len("state"))
        return (Edit(start, end, ("",)),)

    yield from findings(reading, RULE.code, "the step of an optimizer", ".step", edits_of)

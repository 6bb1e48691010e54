"""FOC204: ``optimizer.state.step`` is ``state.step``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.edits import Edit
from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.optimizers.findings import findings
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC204",
    name="step",
    summary="the number of steps done, `optimizer.state.step`",
    what="`--to optax` writes `.step`. `--to shim` leaves it.",
    why="Both count from 0, and one more with every step.",
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

    def edits_of(use: Use, unit: Unit) -> tuple[Edit, ...]:
        del unit
        assert isinstance(use.node, ast.Attribute) and isinstance(use.node.value, ast.Attribute)
        # What stands before `.state` may have brackets, which belong to no node.
        end = reading.document.span(use.node.value)[1]
        start = reading.document.text.rindex(".", 0, end - len("state"))
        return (Edit(start, end, ("",)),)

    yield from findings(reading, RULE.code, "the step of an optimizer", ".step", edits_of)

"""FOC219: what else a program does with an optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.optimizers.findings import findings
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC219",
    name="other-use",
    summary="a use of an optimizer that no other rule knows",
    what="Both targets leave it, and `--to optax` leaves the optimizer with it.",
    why="A TrainState has no such method or field, or it is not certain that the object is "
    "an optimizer.",
    refuses="Always.",
    examples=(
        Example(
            before="""\
from flax import optim


def train_step(params, loss_fn):
    optimizer = optim.GradientDescent(0.1).create(params)
    return optimizer.optimize(loss_fn)
""",
            optax="""\
from flaxoptim_compat import optim


def train_step(params, loss_fn):
    optimizer = optim.GradientDescent(0.1).create(params)
    # FOC219: A TrainState has no `optimize`.
    return optimizer.optimize(loss_fn)
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Places where an optimizer is used in a way that no rule knows, and why each stays."""
    yield from findings(
        reading, RULE.code, "another use of an optimizer", "see why it stays", lambda use, unit: ()
    )

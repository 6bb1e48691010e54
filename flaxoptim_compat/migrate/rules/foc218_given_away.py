"""FOC218: an optimizer that is given to a package."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.optimizers.findings import findings
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC218",
    name="given-away",
    summary="an optimizer is given to a function that is not read here",
    what="Both targets leave it, and `--to optax` leaves the optimizer with it. Functions "
    "of jax, flax, numpy, orbax and others that take any tree of arrays do not count, nor do "
    "methods such as `append` and `save`.",
    why="The function may ask it for `target` or `apply_gradient`, which a TrainState does "
    "not have.",
    refuses="Always. If the function takes any tree, say so with `# noqa: FOC218`.",
    examples=(
        Example(
            before="""\
import some_package
from flax import optim


def train(params):
    optimizer = optim.GradientDescent(0.1).create(params)
    return some_package.train(optimizer)
""",
            optax="""\
import some_package
from flaxoptim_compat import optim


def train(params):
    optimizer = optim.GradientDescent(0.1).create(params)
    # FOC218: It is given to some_package.train, which may expect an Optimizer.
    return some_package.train(optimizer)
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Places where an optimizer goes to code that is not read here, and why each stays."""
    yield from findings(
        reading,
        RULE.code,
        "an optimizer that is given away",
        "a TrainState, if the package takes one",
        lambda use, unit: (),
    )

"""FOC214: the definition in an optimizer, ``optimizer.optimizer_def``."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.optimizers.findings import findings
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC214",
    name="optimizer-def",
    summary="the definition or its hyper-parameters, read from an optimizer, "
    "`optimizer.optimizer_def`",
    what="`--to optax` reads it from the optimizer that the TrainState stands for, as in "
    "FOC213, and the definition stays. A step that is given `hyper_params=` is done by that "
    "optimizer too. `--to shim` leaves it.",
    why="A TrainState has a transformation, `tx`, which does not tell what it was made of. "
    "Values that steps set stand in `opt_state.hyperparams`.",
    refuses="Where the optimizer is left for another reason.",
    examples=(
        Example(
            before="""\
from flax import optim


def rate_of(params):
    optimizer = optim.Momentum(0.1).create(params)
    return optimizer.optimizer_def.hyper_params.learning_rate
""",
            optax="""\
from flaxoptim_compat import optim


def rate_of(params):
    optimizer = optim.Momentum(0.1).create(params).to_train_state()
    return optim.Optimizer.from_train_state(optimizer).optimizer_def.hyper_params.learning_rate
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each such place."""
    yield from findings(
        reading,
        RULE.code,
        "the definition in an optimizer",
        "opt_state.hyperparams, for what steps set",
        lambda use, unit: (),
    )

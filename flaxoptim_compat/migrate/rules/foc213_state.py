"""FOC213: the per-parameter state of an optimizer, ``optimizer.state.param_states``."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.optimizers.findings import findings
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC213",
    name="state",
    summary="the state of an optimizer is taken apart, `optimizer.state.param_states`",
    what="`--to optax` writes `Optimizer.from_train_state(state)` in front: that is the "
    "optimizer for which the TrainState stands, with the state that the program knows. Where "
    "it is replaced, `.to_train_state()` follows. The definition then stays that of "
    "flax.optim. `--to shim` leaves it.",
    why="Flax kept a small dataclass for each parameter; optax keeps one tree for each "
    "kind of moment. Both ways only move arrays, and cost nothing after compilation.",
    refuses="Where the state is that of an optimizer that is left for another reason.",
    examples=(
        Example(
            before="""\
from flax import optim


def momentum_of(params, name):
    optimizer = optim.Momentum(0.1).create(params)
    return optimizer.state.param_states[name].momentum
""",
            optax="""\
from flaxoptim_compat import optim


def momentum_of(params, name):
    optimizer = optim.Momentum(0.1).create(params).to_train_state()
    return optim.Optimizer.from_train_state(optimizer).state.param_states[name].momentum
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Reads of an optimizer's state that a TrainState keeps elsewhere, and why each stays."""
    yield from findings(
        reading,
        RULE.code,
        "the state of an optimizer",
        "opt_state, in the structure of optax",
        lambda use, unit: (),
    )

"""FOC211: ``optimizer.replicate()``, which averages gradients."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.optimizers.findings import findings
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC211",
    name="replicate-method",
    summary="an optimizer on every device by its own method, `optimizer.replicate()`",
    what="Both targets leave it, and `--to optax` leaves the optimizer with it. "
    "`flax.jax_utils.replicate(optimizer)` is another thing: it works on a TrainState as it is.",
    why="An optimizer that replicated itself averaged its gradients over the devices in "
    "`apply_gradient`. A TrainState does not, so the training would go on, with other numbers "
    "on each device.",
    refuses="Always. Write `flax.jax_utils.replicate(optimizer)`, take `jax.lax.pmean(grads, "
    '"batch")` before `apply_gradient`, and rewrite again.',
    examples=(
        Example(
            before="""\
from flax import optim


def on_all_devices(params):
    return optim.GradientDescent(0.1).create(params).replicate()
""",
            optax="""\
from flaxoptim_compat import optim


def on_all_devices(params):
    # FOC211: A replicated optimizer averages its gradients over the devices; a TrainState does not.
    return optim.GradientDescent(0.1).create(params).replicate()
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Calls that replicate an optimizer or take it back, and why each stays."""
    yield from findings(
        reading,
        RULE.code,
        "an optimizer that averages gradients itself",
        "flax.jax_utils.replicate and jax.lax.pmean",
        lambda use, unit: (),
    )

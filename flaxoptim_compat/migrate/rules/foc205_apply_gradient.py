"""FOC205: ``apply_gradient(grads)`` is ``apply_gradients(grads=grads)``."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.steps import step_edits
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC205",
    name="apply-gradient",
    summary="a step, `optimizer.apply_gradient(grads)` or `optimizer.optimize(loss_fn)`",
    what="`--to optax` writes `.apply_gradients(grads=grads)`, the method of a "
    "`TrainState`. Where other steps of the same optimizer are given a learning rate, this one "
    "sets it back to that of the definition, because what was set once stays in a TrainState. "
    "A statement with `optimize` becomes two, as in FOC212: one for the gradient and one for the "
    "step. "
    "`--to shim` leaves it.",
    why="Both return a new object with new parameters, the step counted up and new moments.",
    refuses="Where the method is not called but handed on, and where its arguments are not "
    "written out; `optimize` where its statement does not take the results apart, or is not alone "
    "on its lines.",
    examples=(
        Example(
            before="""\
from flax import optim


def make(params):
    return optim.Momentum(learning_rate=0.1, beta=0.9).create(params)


def train_step(optimizer, grads):
    return optimizer.apply_gradient(grads)


def train(params, batches):
    optimizer = make(params)
    for grads in batches:
        optimizer = train_step(optimizer, grads)
    return optimizer.target
""",
            optax="""\
import optax
from flax.training import train_state


def make(params):
    return train_state.TrainState.create(
        apply_fn=None,
        tx=optax.sgd(0.1, momentum=0.9),
        params=params,
    )


def train_step(optimizer, grads):
    return optimizer.apply_gradients(grads=grads)


def train(params, batches):
    optimizer = make(params)
    for grads in batches:
        optimizer = train_step(optimizer, grads)
    return optimizer.params
""",
        ),
        Example(
            before="""\
from flax import optim


def train(params, loss_fn):
    optimizer = optim.Momentum(learning_rate=0.1, beta=0.9).create(params)
    for _ in range(100):
        optimizer, loss, logits = optimizer.optimize(loss_fn)
    return optimizer.target, loss, logits
""",
            optax="""\
import jax
import optax
from flax.training import train_state


def train(params, loss_fn):
    optimizer = train_state.TrainState.create(
        apply_fn=None,
        tx=optax.sgd(0.1, momentum=0.9),
        params=params,
    )
    for _ in range(100):
        (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(
            optimizer.params
        )
        optimizer = optimizer.apply_gradients(grads=grads)
    return optimizer.params, loss, logits
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each step that is given nothing but gradients."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        return step_edits(reading, use, unit, imports)

    yield from findings(
        reading, RULE.code, "a step of an optimizer", ".apply_gradients(grads=...)", edits_of
    )

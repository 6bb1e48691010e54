"""FOC206: ``apply_gradient(grads, learning_rate=rate)``."""

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
    code="FOC206",
    name="rate-of-a-step",
    summary="a step with hyper-parameters of its own, `apply_gradient(grads, learning_rate=rate)`",
    what="`--to optax` puts the definition into `optax.inject_hyperparams`, and each step "
    "sets `learning_rate` in the state of the optimizer before it is done."
    "\n\nWhere every step computes the rate by a function of `optimizer.state.step` alone, the "
    "function becomes the schedule of the optimizer, and the steps do not give it any more. "
    "`--to shim` leaves both.",
    why="A hyper-parameter that was given to `apply_gradient` lasted for one step. In "
    "optax it is either built in, or stands in `opt_state.hyperparams` until it is set again. "
    "Only those that steps do set are put there: `beta2` as a float32 array would lose four "
    "digits of `1 - beta2`."
    "\n\nA schedule counts from 0, as `optimizer.state.step` does.",
    refuses="`beta1`, `beta2` and `rho`, which would lose digits, and hyper-parameters that "
    "only some of the steps give, unless it is the learning rate and the definition has a "
    "number for it. Such a step is done by the optimizer that the TrainState stands for, as in "
    "FOC213."
    "\n\nWith parameters in half precision optax keeps the rate in their dtype, where flax.optim "
    "kept it in float32.",
    examples=(
        Example(
            before="""\
from flax import optim


def make(params):
    return optim.Adam(beta2=0.98).create(params)


def train(params, batches, rate):
    optimizer = make(params)
    for grads in batches:
        optimizer = optimizer.apply_gradient(grads, learning_rate=rate)
    return optimizer
""",
            optax="""\
import optax
from flax.training import train_state


def make(params):
    return train_state.TrainState.create(
        apply_fn=None,
        tx=optax.inject_hyperparams(
            optax.adam, static_args=("b1", "b2", "eps", "eps_root")
        )(learning_rate=0.0, b2=0.98),
        params=params,
    )


def train(params, batches, rate):
    optimizer = make(params)
    for grads in batches:
        optimizer = optimizer.replace(
            opt_state=optax.tree_utils.tree_set(optimizer.opt_state, learning_rate=rate)
        ).apply_gradients(grads=grads)
    return optimizer
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each step that is given hyper-parameters."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        return step_edits(reading, use, unit, imports)

    yield from findings(
        reading,
        RULE.code,
        "a step with hyper-parameters of its own",
        "optax.inject_hyperparams, or a schedule",
        edits_of,
    )

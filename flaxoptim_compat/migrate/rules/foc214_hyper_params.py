"""FOC214: the definition in an optimizer, ``optimizer.optimizer_def``."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.statements import without
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule(
    code="FOC214",
    name="optimizer-def",
    summary="the definition or its hyper-parameters, read from an optimizer, "
    "`optimizer.optimizer_def`",
    what="`--to optax` reads it from the optimizer that the TrainState stands for, as in "
    "FOC213, and the definition stays. A step that is given `hyper_params=` is done by that "
    "optimizer too."
    "\n\nWhere all steps of a MultiOptimizer give `hyper_params=[first.replace(learning_rate=a), "
    "...]` for its parts, each part gets a hyper-parameter of its own in optax, "
    "`learning_rate_0` and so on, which the steps set. `--to shim` leaves it.",
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
    optimizer = optim.Momentum(0.1).create(params).to_train_state(inject=False)
    return optim.Optimizer.from_train_state(optimizer).optimizer_def.hyper_params.learning_rate
""",
        ),
    ),
)


def _use(asked: Asked) -> Use:
    problem = "A TrainState keeps the transformation as `tx`, without its hyper-parameters."
    return asked.use(RULE.code, problem, bridge="reads")


RECOGNISES = Recognises({Optimizer: {"optimizer_def": _use}})


def find(reading: Reading) -> Iterator[Finding]:
    """Reads and assignments of hyper-parameters of a definition, and why each stays."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        statements = {} if unit.part_rates is None else unit.part_rates.statements
        if use.node not in statements:
            return ()
        return (without(reading.document, statements[use.node]),)

    what = "the definition in an optimizer"
    yield from findings(
        reading, RULE.code, what, "opt_state.hyperparams, for what steps set", edits_of
    )

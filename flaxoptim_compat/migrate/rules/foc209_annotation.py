"""FOC209: the class ``Optimizer`` in annotations, fields and ``isinstance``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import replaced
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.foc202_create import TRAIN_STATE
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.values.known_names import is_optimizer
from flaxoptim_compat.migrate.values.objects import External

TRANSFORMATION = "optax:GradientTransformation"

RULE = Rule(
    code="FOC209",
    name="annotation",
    summary="the class `Optimizer` in an annotation, a field of a dataclass or `isinstance`",
    what="`--to optax` writes `TrainState` of `flax.training.train_state`, wherever the "
    "optimizers that it is about become TrainStates, and `optax.GradientTransformation` for "
    "`OptimizerDef`. `--to shim` takes the class from this package.",
    why="An annotation in a dataclass is evaluated when the class is made: "
    "`flax.optim.Optimizer` ends the program there even if nothing else of it is used.",
    refuses="Where the optimizer stays as it is, and where the class itself is called to put "
    "one together.",
    examples=(
        Example(
            before="""\
import flax


@flax.struct.dataclass
class Trainer:
    optimizer: flax.optim.Optimizer


def make(params):
    return Trainer(flax.optim.GradientDescent(0.1).create(params))
""",
            optax="""\
import flax
import optax
from flax.training import train_state


@flax.struct.dataclass
class Trainer:
    optimizer: train_state.TrainState


def make(params):
    return Trainer(train_state.TrainState.create(
        apply_fn=None,
        tx=optax.sgd(0.1),
        params=params,
    ))
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each place that names the class."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        is_definition = _names_definition(reading, use.node)
        if is_definition and unit.definition_stays:
            return ()
        successor = TRANSFORMATION if is_definition else TRAIN_STATE
        return (replaced(reading, use.node, imports.name_of(successor, use.node)),)

    def drops(use: Use, unit: Unit) -> bool:
        return not (unit.definition_stays and _names_definition(reading, use.node))

    what = "the class of optimizers"
    yield from findings(reading, RULE.code, what, "TrainState", edits_of, drops)


def _names_definition(reading: Reading, node: ast.expr) -> bool:
    """Whether it is the class of definitions, and not that of optimizers."""
    assert reading.facts is not None
    values = reading.facts.points_to.values(node)
    return not any(isinstance(each, External) and is_optimizer(each.name) for each in values)

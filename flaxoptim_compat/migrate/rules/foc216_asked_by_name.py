"""FOC216: ``hasattr(optimizer, "target")`` asks for ``params``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.asked_by_name import NAMES_TODAY
from flaxoptim_compat.migrate.optimizers.fragments import renamed_string
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC216",
    name="asked-by-name",
    summary='an optimizer is asked for something by a string, `hasattr(optimizer, "target")`',
    what='`--to optax` writes `"params"` for `"target"`, and in `hasattr` `"apply_gradients"` '
    'for `"apply_gradient"`. `--to shim` leaves both.',
    why="They are the names that a `TrainState` has.",
    refuses="Where another name is asked for, or a method is taken by its name; where the "
    "program may also have models of `flax.nn`, which have `params` of their own; and where it "
    "may be something else than an optimizer.",
    examples=(
        Example(
            before="""\
from flax import optim


def make(params):
    return optim.GradientDescent(0.1).create(params)


def params_of(model):
    return model.target if hasattr(model, "target") else model


def train(params):
    optimizer = make(params)
    return params_of(optimizer), params_of(params)
""",
            optax="""\
import optax
from flax.training import train_state


def make(params):
    return train_state.TrainState.create(
        apply_fn=None,
        tx=optax.sgd(0.1),
        params=params,
    )


def params_of(model):
    return model.params if hasattr(model, "params") else model


def train(params):
    optimizer = make(params)
    return params_of(optimizer), params_of(params)
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each name in a string."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit, imports
        assert isinstance(use.node, ast.Constant)
        return (renamed_string(reading, use.node, NAMES_TODAY[str(use.node.value)]),)

    what = "the name of something that an optimizer has"
    yield from findings(reading, RULE.code, what, "the name that a TrainState has", edits_of)

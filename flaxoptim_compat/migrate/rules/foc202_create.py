"""FOC202: ``definition.create(params)`` makes a TrainState."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.surroundings import surroundings_of
from flaxoptim_compat.migrate.optax_text.text import partition
from flaxoptim_compat.migrate.optimizers.definitions import focused
from flaxoptim_compat.migrate.optimizers.fragments import laid_out, replaced, span, value
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.steps import back_edit
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.optimizers.uses import focus_of
from flaxoptim_compat.migrate.rules.foc201_constructor import definition_text
from flaxoptim_compat.migrate.rules.rule import Example, Rule

TRAIN_STATE = "flax.training.train_state:TrainState"

RULE = Rule(
    code="FOC202",
    name="create",
    summary="an optimizer that is made, `definition.create(params)`",
    what="`--to optax` writes `TrainState.create(apply_fn=None, tx=..., params=...)`, with "
    "Flax's own `TrainState`. `apply_fn` is only kept there for you: put `model.apply` in if "
    "that is handy."
    "\n\nWhere the definition has no text in optax, it stays, and `.to_train_state()` follows. So "
    "it is with a class of your own, and with a class that is looked up by its name. The "
    "TrainState does exactly what the optimizer did.",
    why="A `TrainState` holds parameters, step and the state of the optimizer, as an "
    "`Optimizer` did. It passes through `jit`, `pmap`, `scan`, `replicate` and checkpoints in "
    "the same way. In a checkpoint its fields are called otherwise: FOC215.",
    refuses="Where its arguments are not written out. With a `focus` that does not select by a "
    "function of the path the definition stays. Parameters that are no mapping, such as a bare "
    "array, end in an error in `TrainState.create`: for those call `to_train_state()` of this "
    "package.",
    examples=(
        Example(
            before="""\
from flax import optim


def make(params):
    optimizer_def = optim.Adam(learning_rate=1e-3)
    return optimizer_def.create(params)
""",
            optax="""\
import optax
from flax.training import train_state


def make(params):
    optimizer_def = optax.adam(1e-3)
    return train_state.TrainState.create(apply_fn=None, tx=optimizer_def, params=params)
""",
        ),
        Example(
            before="""\
from flax import optim


def make(name, settings, params):
    return getattr(optim, name)(**settings).create(params)
""",
            optax="""\
from flaxoptim_compat import optim


def make(name, settings, params):
    # FOC103: Which optimizer this is shows only when it runs.
    return getattr(optim, name)(**settings).create(params).to_train_state()
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of ``create``."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        call = use.node
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if unit.definition_stays:
            return (back_edit(reading, call, unit),)
        train_state = imports.name_of(TRAIN_STATE, call)
        params = [*call.args, *(each.value for each in call.keywords if each.arg == "target")][0]
        arguments: list[Fragments] = [
            ("apply_fn=None",),
            ("tx=", *transformation(reading, call, unit, imports)),
            ("params=", *value(reading, params)),
        ]
        text = laid_out(
            reading,
            surroundings_of(reading.document, call),
            (f"{train_state}.create(",),
            arguments,
            (")",),
        )
        return (replaced(reading, call, *text),)

    yield from findings(
        reading, RULE.code, "an optimizer is created", "TrainState.create", edits_of
    )


def transformation(reading: Reading, call: ast.Call, unit: Unit, imports: ImportPlan) -> Fragments:
    """The definition, or with a focus the partition that moves only what it selects."""
    facts = reading.facts
    assert isinstance(call.func, ast.Attribute) and facts is not None
    definition = call.func.value
    focus = focus_of(call)
    site = facts.created_here(definition)
    if site is not None and reading.writes:
        # Here and not as an edit of its own, because only so it is known how long the line gets.
        surroundings = surroundings_of(reading.document, call)
        inside = surroundings.inside(before=len("tx="), after=1)
        return definition_text(reading, facts.points_to, site, unit, imports, inside, focus)
    if focus is None or not reading.writes:
        return value(reading, definition)
    part = focused(facts.points_to, focus, (span(reading, definition),))
    return partition(
        [part],
        reading.document,
        lambda dotted: imports.name_of(dotted, call),
        surroundings_of(reading.document, call),
        releases=reading.releases,
    )

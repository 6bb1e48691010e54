"""FOC202: ``definition.create(params)`` makes a TrainState."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.dotted import argument, call_of
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.fragments import owner, replaced, value
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.steps import back_edits, to_train_state
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import (
    Definition,
    External,
)
from flaxoptim_compat.migrate.values.points_to import PointsTo

TRAIN_STATE = "flax.training.train_state:TrainState"

RULE = Rule("FOC202", "create")


def _use(asked: Asked) -> Use | None:
    points_to, document, create, call = asked.points_to, asked.document, asked.node, asked.call
    if isinstance(create.ctx, ast.Store):
        return None
    if call is None:
        is_seen = _is_called_at_once(points_to, document, create)
        problem = (
            ""
            if is_seen
            else "The code that calls `create` is not seen: call `create` where it stands."
        )
        return asked.use(RULE.code, problem)
    return asked.use(RULE.code, node=call)


def _is_called_at_once(points_to: PointsTo, document: Document, create: ast.Attribute) -> bool:
    """True for ``jax.jit(definition.create)(params)`` and the like, or in ``jax.eval_shape``."""
    maker = document.parents[create]
    if not isinstance(maker, ast.Call):
        return False
    if points_to.package_names(maker.func) == {"jax.eval_shape"}:
        return maker.args[:1] == [create] and len(maker.args) == 2 and not maker.keywords
    if not _transforms(points_to, maker, create):
        return False
    call = call_of(document, maker)
    return call is not None and _gives_target(call)


def _transforms(points_to: PointsTo, call: ast.Call, function: ast.expr) -> bool:
    makers = points_to.values(call.func)
    return (
        call.args[:1] == [function]
        and bool(makers)
        and all(isinstance(each, External) and each.name in _TRANSFORMS for each in makers)
    )


def _gives_target(call: ast.Call) -> bool:
    names = ["" if isinstance(each, ast.Starred) else "target" for each in call.args]
    return [*names, *(each.arg for each in call.keywords)] == ["target"]


_TRANSFORMS = {"jax.jit", "jax.pmap", "jax.vmap"}
RECOGNISES = Recognises({Definition: {"create": _use}})


def find(reading: Reading) -> Iterator[FoundPlace]:
    """Each call of ``create``."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        create = use.node
        if isinstance(create, ast.Attribute):
            return (_function(reading, use, create, unit, imports),)
        assert isinstance(create, ast.Call)
        if unit.definition_stays:
            return back_edits(reading, use, unit)
        target = argument(create, 0, "target")
        assert isinstance(create.func, ast.Attribute) and target is not None
        tx, params = (value(reading, each) for each in (create.func.value, target))
        text = _train_state(reading, create, tx, params, unit, imports)
        return (replaced(reading, create, *text),)

    yield from findings(
        reading, RULE.code, "an optimizer is created", "TrainState.create", edits_of
    )


def _function(
    reading: Reading, use: Use, create: ast.Attribute, unit: Unit, imports: ImportPlan
) -> Edit:
    """The edit of ``create`` without a call: a lambda that does the same."""
    before = "lambda target: "
    if unit.definition_stays:
        end = f".create(target){to_train_state(use, unit)}"
        return replaced(reading, create, before, *owner(reading, create.value), end)
    tx = value(reading, create.value)
    text = _train_state(reading, create, tx, ("target",), unit, imports)
    return replaced(reading, create, before, *text)


def _train_state(
    reading: Reading,
    create: ast.expr,
    tx: Fragments,
    params: Fragments,
    unit: Unit,
    imports: ImportPlan,
) -> Fragments:
    """The text of ``TrainState.create`` in the place of ``create``."""
    train_state = imports.name_of(TRAIN_STATE, create)
    start = f"{train_state}.create(apply_fn=None, tx="
    end = ")"
    if unit.starts_at_array:
        asarray, int32 = (imports.name_of(f"jax.numpy:{each}", create) for each in _STEP)
        end = f").replace(step={asarray}(0, {int32}))"
    return (start, *tx, ", params=", *params, end)


_STEP = ("asarray", "int32")

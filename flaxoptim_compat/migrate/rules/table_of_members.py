"""FOC203, FOC204, FOC207, FOC211 and FOC212: fields and methods that a TrainState has otherwise."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.definitions import are_dual
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.fragments import (
    owner,
    renamed_attribute,
    replaced,
    span,
    value,
)
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises, besides_optimizers
from flaxoptim_compat.migrate.optimizers.steps import NOT_TAKEN_APART, taken_apart
from flaxoptim_compat.migrate.optimizers.use import Sites, Use, mixed, shown, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.foc210_state_dict import OTHER_ARGUMENTS
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.rules.table_of_steps import NOT_CALLED
from flaxoptim_compat.migrate.rules.table_of_uses_that_stay import OTHER_STRUCTURE
from flaxoptim_compat.migrate.values.known_names import axis_of
from flaxoptim_compat.migrate.values.objects import Optimizer
from flaxoptim_compat.migrate.values.points_to import PointsTo

RULES = (
    Rule("FOC203", "target"),
    Rule("FOC204", "step"),
    Rule("FOC207", "replace"),
    Rule("FOC211", "replicate-method"),
    Rule("FOC212", "compute-gradient"),
)


def _target(asked: Asked) -> Use:
    problem = "" if isinstance(asked.node.ctx, ast.Load) else "The program assigns to `target`."
    return asked.use("FOC203", problem)


def _step(asked: Asked) -> Use | None:
    match asked.document.parents[asked.node]:
        case ast.Attribute(attr="step", ctx=ast.Load()) as step:
            return asked.use("FOC204", node=step)
    return None


def _replace(asked: Asked) -> Use:
    call = asked.call
    if call is None or call.args or not call.keywords:
        return asked.use("FOC207", "The arguments of `replace` are not written out by name.")
    names = [each.arg for each in call.keywords]
    if _are_plain(names, asked.points_to, asked.sites):
        return asked.use("FOC207", node=call, is_plain=True)
    others = [each or "**" for each in names if each not in ("target", "state")]
    if others:
        return asked.use("FOC207", f"A TrainState has no `{others[0]}` to replace.", call)
    problem = OTHER_STRUCTURE.format("state") if "state" in names else ""
    return asked.use("FOC207", problem, call, bridge="returns")


def _replaced_by_dataclasses(
    points_to: PointsTo, document: Document, call: ast.Call
) -> Iterator[Use]:
    """The use in ``dataclasses.replace(optimizer, target=...)``, which asks for the fields."""
    if "dataclasses.replace" not in points_to.package_names(call.func) or not call.args:
        return
    sites = sites_of(points_to.values(call.args[0]), Optimizer)
    names = [each.arg for each in call.keywords]
    if not sites or _are_plain(names, points_to, sites):
        return
    problem = ""
    others, unknown = besides_optimizers(points_to, call.args[0])
    if is_doubt := bool(others) or unknown is not None:
        problem = mixed(others, unknown)
    elif names != ["target"]:
        problem = f"`{shown(call)}` replaces fields that a TrainState does not have."
    fails = bool(problem) or None in sites or points_to.gave_up
    yield Use("FOC207", document, call, sites, problem, is_doubt=is_doubt, fails_dual=fails)


def _copies(asked: Asked) -> Use:
    call = asked.call
    if call is None:
        return asked.use("FOC211", NOT_CALLED.format(asked.node.attr))
    problem = ""
    if asked.node.attr == "replicate":
        problem = "" if axis_of(call) else "The axis of `replicate` is not written out."
    elif call.args or call.keywords:
        problem = OTHER_ARGUMENTS.format(asked.node.attr)
    return asked.use("FOC211", problem, call)


def _gradient(asked: Asked) -> Use:
    call = asked.call
    if call is None or len(call.args) != 1 or call.keywords:
        return asked.use("FOC212", OTHER_ARGUMENTS.format(asked.node.attr))
    problem = "" if taken_apart(asked.document, call) else NOT_TAKEN_APART
    return asked.use("FOC212", problem, call, bridge="reads")


def _are_plain(names: list[str | None], points_to: PointsTo, sites: Sites) -> bool:
    """True if these fields are those of a TrainState, and asked of DualTrainStates."""
    return _TRAIN_STATE.issuperset(names) and are_dual(points_to, sites)


def _plain(code: str, asked: Asked) -> Use | None:
    """The use of a name of TrainState, which DualTrainStates have as well."""
    return asked.use(code, is_plain=True) if are_dual(asked.points_to, asked.sites) else None


_TRAIN_STATE = frozenset({"apply_fn", "opt_state", "params", "step", "tx"})
RECOGNISES = Recognises(
    {
        Optimizer: {
            **dict.fromkeys(_TRAIN_STATE, functools.partial(_plain, "FOC203")),
            "step": functools.partial(_plain, "FOC204"),
            "apply_gradients": functools.partial(_plain, "FOC205"),
            "target": _target,
            "state": _step,
            "replace": _replace,
            **dict.fromkeys(("replicate", "unreplicate"), _copies),
            **dict.fromkeys(("compute_gradient", "compute_gradients"), _gradient),
        }
    },
    [(ast.Call, _replaced_by_dataclasses)],
)


def _params(reading: Reading, node: ast.expr, imports: ImportPlan) -> tuple[Edit, ...]:
    del imports
    assert isinstance(node, ast.Attribute)
    return (renamed_attribute(reading, node, "params"),)


def _own_step(reading: Reading, node: ast.expr, imports: ImportPlan) -> tuple[Edit, ...]:
    del imports
    assert isinstance(node, ast.Attribute)
    # The expression before `.state` may have brackets, which belong to no node.
    text, end = reading.document.text, reading.document.span(node.value)[1]
    return (Edit(text.rindex(".", 0, end - len("state")), end, ("",)),)


def _other_params(reading: Reading, node: ast.expr, imports: ImportPlan) -> tuple[Edit, ...]:
    del imports
    assert isinstance(node, ast.Call)
    # With a `state` it is the optimizer that does it.
    (keyword,) = node.keywords
    start = reading.document.span(keyword)[0]
    return (Edit(start, start + len("target"), ("params",)),)


def _on_devices(reading: Reading, node: ast.expr, imports: ImportPlan) -> tuple[Edit, ...]:
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    function = imports.name_of(f"flax.jax_utils:{node.func.attr}", node)
    by_name = [each.value for each in node.keywords if each.arg == "devices"]
    devices: Fragments = ()
    for argument in [*node.args[:1], *by_name]:
        devices = (", devices=", *value(reading, argument))
    receiver = span(reading, node.func.value)
    return (replaced(reading, node, f"{function}(", receiver, *devices, ")"),)


def _by_jax(reading: Reading, node: ast.expr, imports: ImportPlan) -> tuple[Edit, ...]:
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    statement = reading.document.parents[node]
    assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
    results = statement.targets[0].elts
    has_aux = len(results) == 3
    function = replaced(
        reading,
        node,
        f"{imports.name_of('jax:value_and_grad', node)}(",
        span(reading, node.args[0]),
        f"{', has_aux=True' if has_aux else ''})(",
        *owner(reading, node.func.value),
        ".params)",
    )
    if not has_aux:
        return (function,)
    before, after = span(reading, results[0]).start, span(reading, results[1]).end
    return (Edit(before, before, ("(",)), Edit(after, after, (")",)), function)


# For each rule the name of the code in a sentence, its replacement, and the edits that make it.
_TABLE: dict[str, tuple[str, str, Callable[[Reading, ast.expr, ImportPlan], tuple[Edit, ...]]]] = {
    "FOC203": ("the target of an optimizer", ".params", _params),
    "FOC204": ("the step of an optimizer", ".step", _own_step),
    "FOC207": ("fields of an optimizer are replaced", ".replace(params=...)", _other_params),
    "FOC211": (
        "copies of an optimizer on every device",
        "flax.jax_utils, and jax.lax.pmean in the steps",
        _on_devices,
    ),
    "FOC212": ("loss and gradient by the optimizer", "jax.value_and_grad", _by_jax),
}


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """Each use of one of these members."""
    what, instead, edits = _TABLE[code]
    yield from findings(
        reading,
        code,
        what,
        instead,
        lambda use, unit, imports: edits(reading, use.node, imports),
    )

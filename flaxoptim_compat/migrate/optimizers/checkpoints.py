"""The commands that convert the checkpoints of an optimizer for the program as it is rewritten."""

from __future__ import annotations

import ast
import builtins
import shlex
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from flaxoptim_compat import syntax
from flaxoptim_compat.catalogue import DECAY, DTYPE, INTEGERS, RATE
from flaxoptim_compat.migrate.names.dotted import argument, last_name
from flaxoptim_compat.migrate.optax_text.binding import Bound, Refused, pairs
from flaxoptim_compat.migrate.optimizers.definitions import (
    bound_of,
    filters_of,
    focus_of,
    inner_definitions,
)
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import sites_of
from flaxoptim_compat.migrate.values.known_names import RESTORE_METHODS, RESTORING, SAVING
from flaxoptim_compat.migrate.values.objects import Definition, Site
from flaxoptim_compat.migrate.values.points_to import PointsTo

_COMMAND: Final = "flaxoptim-compat checkpoint convert OLD NEW --to train-state"
# Where the text of the program does not tell the definition.
_BY_NAME: Final = f"{_COMMAND} --definition MODULE:TX"
_STAYS: Final = f"{_COMMAND} --definition MODULE:DEFINITION"


def conversions(points_to: PointsTo, unit: Unit) -> dict[str, Site]:
    """The commands for a unit that becomes TrainStates, in a program that saves or restores any.

    Each with the first definition that it is for. Where the text of the old definition cannot stand
    by itself, ``MODULE:TX`` stands for the new transformation, and ``MODULE:DEFINITION`` for the
    definition if it stays.

    Args:
      points_to: what is known of the program.
      unit: the optimizers.
    """
    if not unit.converts or not _has_checkpoints(points_to, unit):
        return {}
    inner = {each for site in unit.sites for each in inner_definitions(points_to, site)}
    commands: dict[str, Site] = {}
    for site in unit.sites:
        if site not in inner:
            commands.setdefault(_command(points_to, unit, site), site)
    return commands


def _has_checkpoints(points_to: PointsTo, unit: Unit) -> bool:
    """True if what may hold an optimizer is saved or restored where the program of a unit runs."""
    documents = chain.from_iterable(map(points_to.processes.together_with, unit.documents))
    calls = chain.from_iterable(each.of_kind(ast.Call) for each in dict.fromkeys(documents))
    last = {name.rpartition(".")[2] for name in RESTORING | SAVING} | RESTORE_METHODS
    return any(
        last_name(call.func) in last and _meets_optimizers(points_to, call) for call in calls
    )


def _meets_optimizers(points_to: PointsTo, call: ast.Call) -> bool:
    """True if a call saves or restores what may hold an optimizer."""
    names = points_to.package_names(call.func) & (RESTORING | SAVING)
    # Functions of `checkpoints` take the target behind the directory.
    positions = {1 if ".checkpoints." in name else 0 for name in names}
    return restores(points_to, call) or any(
        _may_hold_optimizer(points_to, call, each) for each in positions
    )


def _may_hold_optimizer(points_to: PointsTo, call: ast.Call, position: int) -> bool:
    """False if parameters alone are evidently saved, or restored."""
    target = argument(call, position, "target")
    if target is None or isinstance(target, ast.Constant | ast.Starred):
        return True  # a checkpoint is restored as nested dicts
    held = points_to.values(target)
    return points_to.is_unknown(target) or points_to.holds_optimizer(held)


def restores(points_to: PointsTo, call: ast.Call) -> bool:
    """True if a call returns an optimizer as it was saved, by Flax or a method as those of clu."""
    if not points_to.holds_optimizer(points_to.values(call)):
        return False
    match call.func:
        case ast.Attribute(value=of, attr=method) if method in RESTORE_METHODS:
            return not points_to.values(of)
    return bool(points_to.package_names(call.func) & RESTORING)


def _command(points_to: PointsTo, unit: Unit, site: Site) -> str:
    option = "" if unit.overrides else " --rate fixed"
    try:
        definition = _definition(points_to, unit, site)
    except Refused:
        definition = None
    if definition is None or {*unit.overrides} - {RATE}:
        return f"{_STAYS}{option}" if unit.definition_stays else _BY_NAME
    if RATE in unit.overrides:
        # Every step gives one: train.py and eval.py, which has another, share a checkpoint.
        _remove_rates(definition)
    text = syntax.in_one_line(definition)
    return f"{_COMMAND} --definition {shlex.quote(text)}{option}"


def _remove_rates(definition: ast.expr) -> None:
    for call in ast.walk(definition):
        if isinstance(call, ast.Call):
            call.keywords = [each for each in call.keywords if each.arg != RATE]


def _definition(points_to: PointsTo, unit: Unit, site: Site) -> ast.expr | None:
    """The definition, with its focus if it has one; None if its text does not stand by itself.

    Raises:
      Refused: a call is not understood.
    """
    if site.name == "MultiOptimizer":
        return _multi_optimizer(points_to, unit, site)
    definition = _called(bound_of(points_to, site), unit)
    focuses = [focus_of(create) for create in unit.creates if _is_of(points_to, create, site)]
    if focuses and focuses[0] is not None:
        return _of_parts(points_to, [(focuses[0], definition)])
    return definition


def _is_of(points_to: PointsTo, create: ast.Call, site: Site) -> bool:
    return isinstance(create.func, ast.Attribute) and site in sites_of(
        points_to.values(create.func.value), Definition
    )


def _called(bound: Bound, unit: Unit) -> ast.expr:
    """The constructor call, with ``...`` for values that only the program knows.

    A definition that stays makes its TrainState when the program runs, and leaves a weight decay
    out that is 0: ``VALUE`` stands for it.
    """
    arguments: dict[str, ast.expr] = {}
    for name, given in bound.arguments.items():
        if given.is_literal:
            arguments[name] = ast.Constant(given.value)
        elif name not in {RATE, DTYPE, *INTEGERS}:
            # Of these three the state has the same structure whatever they are.
            decides = unit.definition_stays and name == DECAY
            arguments[name] = ast.Name("VALUE") if decides else ast.Constant(...)
    inner = [] if bound.inner is None else [_called(bound.inner, unit)]
    return syntax.called(f"optim.{bound.name}", *inner, **arguments)


def _multi_optimizer(points_to: PointsTo, unit: Unit, site: Site) -> ast.expr | None:
    parts = []
    for traversal, optimizer in pairs(site.node):
        sites = [each for each in sites_of(points_to.values(optimizer), Definition) if each]
        if len(sites) != 1:
            return None
        parts.append((traversal, _called(bound_of(points_to, sites[0]), unit)))
    return _of_parts(points_to, parts)


def _of_parts(points_to: PointsTo, parts: Sequence[tuple[ast.expr, ast.expr]]) -> ast.expr | None:
    """A MultiOptimizer; None if one of its filters needs what else the program has."""
    pairs_: list[ast.expr] = []
    for traversal, definition in parts:
        filters = filters_of(points_to, traversal)
        if len(filters) != 1 or not _stands_alone(filters[0].node.args[0]):
            return None
        selects = syntax.called("optim.ModelParamTraversal", filters[0].node.args[0])
        pairs_.append(ast.Tuple([selects, definition]))
    return syntax.called("optim.MultiOptimizer", *pairs_)


def _stands_alone(function: ast.expr) -> bool:
    """True if a filter is a lambda that reads only its own variables and Python's builtins."""
    if not isinstance(function, ast.Lambda):
        return False
    own = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    own |= {each.id for each in _names(function) if isinstance(each.ctx, ast.Store)}
    read = {each.id for each in _names(function)}
    return read <= own | {*vars(builtins)}


def _names(node: ast.AST) -> Iterable[ast.Name]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name))

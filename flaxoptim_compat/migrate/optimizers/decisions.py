"""The decisions about each unit: whether it is rewritten, and how."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from flaxoptim_compat.catalogue import RATE
from flaxoptim_compat.migrate.names.surface import is_for_old_flax
from flaxoptim_compat.migrate.optimizers.definitions import (
    are_dual,
    can_be_dual,
    filters_of,
    focus_of,
    inner_definitions,
    is_certain,
    why_no_text,
)
from flaxoptim_compat.migrate.optimizers.targets import (
    may_be_models,
    why_refused,
)
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import (
    NOT_PICKLED,
    RUN_TO_KNOW,
    STEPS,
    Use,
    advised,
    is_spelled_out,
    shown,
    sites_of,
)
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.migrate.values.known_names import MAPS_TREES
from flaxoptim_compat.migrate.values.objects import Function, Object, Optimizer, Site, Traversal
from flaxoptim_compat.migrate.values.points_to import PointsTo
from flaxoptim_compat.observation.places import from_here

_MADE_ELSEWHERE = (
    "Nothing in these files makes this optimizer or its definition: give rewrite the files that do."
)
_OLD_FLAX = '`hasattr(flax, "optim")` decides about this optimizer, and is False since flax 0.6.0.'
_TOO_MUCH = (
    "Too many optimizers and other values go through the same code here to tell them apart."
    f" {RUN_TO_KNOW}"
)


def decide(points_to: PointsTo, unit: Unit) -> None:
    """Find out whether a unit is rewritten, whether its definitions stay, and how its rates go.

    Args:
      points_to: what is known of the program.
      unit: the unit, whose fields are set.
    """
    _decide(points_to, unit)
    unit.definition_stays = advised(unit.definition_stays, points_to.evidence)
    unit.problems = [
        dataclasses.replace(each, problem=advised(each.problem, points_to.evidence))
        for each in unit.problems
    ]


def _decide(points_to: PointsTo, unit: Unit) -> None:
    unit.is_reached = any(map(points_to.evidence.has_reached, unit.sites))
    if unit.is_reached:
        # To an annotation no run comes, and none tells what is pickled.
        executed: list[Use | Site] = [
            each
            for each in unit.uses
            if each.code != "FOC209" and each.problem != NOT_PICKLED and not each.is_plain
        ]
        shows = points_to.evidence.shows
        unit.inferred = [each for each in (*executed, *unit.sites) if not shows(each.node)]
    unit.problems = _problems(points_to, unit)
    if unit.problems:
        order = {document: number for number, document in enumerate(points_to.documents)}
        unit.is_dual = _may_be_dual(points_to, unit)
        unit.was_dual = unit.is_dual and are_dual(points_to, unit.sites)
        # Steps that are not written out may set the rate.
        hidden = (RATE,) if _lacking(points_to, unit) or any(map(_may_set, unit.uses)) else ()
        unit.overrides = _given(_steps(unit)) or hidden
        unit.problems.sort(key=lambda each: (not each.fails_dual, order[each.document], each.start))
        return
    # flax.optim had an array from the start; a TrainState counts in Python's numbers at first.
    unit.starts_at_array = any(each.code == "FOC204" for each in unit.uses)
    unit.starts_at_array |= any(_asks_leaves(points_to, unit, each) for each in unit.documents)
    unit.bridged = [each for each in unit.uses if each.problem and each.bridge]
    unit.lacking = _lacking(points_to, unit)
    steps = [each for each in _steps(unit) if each not in unit.bridged]
    steps = _bridge_some(unit, steps)
    unit.overrides = _given(steps)
    if unit.overrides:
        unit.ambiguous = points_to.parameter_names(unit.documents).intersection(unit.overrides)
    unit.definition_stays = next(_why_definition_stays(points_to, unit), "")
    if unit.definition_stays:
        # Of the hyper-parameters of a definition that stays only the rate is injected for certain.
        unit.bridged += [each for each in steps if {*each.overrides} - {RATE}]
        steps = _bridge_some(unit, [each for each in steps if not {*each.overrides} - {RATE}])
        if unit.lacking and not _all_give_rate(unit):
            # The definition says it where there is none.
            unit.bridged += steps
            steps = []
        unit.overrides = _given(steps)
        unit.problems = _start_differently(unit)
        if unit.problems and RATE in unit.overrides and len(steps) == len(_steps(unit)):
            # Each step sets the rate, so that all may start from the same one.
            unit.lacking, unit.problems = frozenset(unit.sites), []


def _problems(points_to: PointsTo, unit: Unit) -> list[Use]:
    """The uses that keep a unit from being rewritten, each with the reason."""
    places: list[Use | Site] = [*unit.sites, *unit.uses]
    if unit.uses and any(is_for_old_flax(each.document, each.node) for each in places):
        first = next((each for each in unit.uses if each.makes), unit.uses[0])
        return [dataclasses.replace(first, problem=_OLD_FLAX)]
    if unit.is_reached:
        if elsewhere := list(_used_elsewhere(points_to.evidence, unit)):
            return elsewhere
    elif points_to.gave_up:
        return [dataclasses.replace(each, problem=_TOO_MUCH) for each in unit.uses[:1]]
    unknown = [use for use in unit.uses if use.sites == {None}]
    creates = [each for each in unit.uses if each.code == "FOC202"]
    is_made = not all(each.problem for each in creates)
    if unknown and not (unit.sites and is_made):
        if creates and not is_made:
            return creates
        # Where it is made of a definition that comes from elsewhere is the line to change.
        made = [each for each in creates if each in unknown]
        return [dataclasses.replace((made or unknown)[0], problem=_MADE_ELSEWHERE)]
    found = [
        each for each in unit.uses if each.problem and not each.bridge and each.code != "FOC201"
    ]
    found += _may_not_average(unit)
    return found


def _may_be_dual(points_to: PointsTo, unit: Unit) -> bool:
    """True if the optimizers can become DualTrainStates, and do all that the program does."""
    is_for_now = all(each.problem != _OLD_FLAX for each in unit.problems)
    fails = any(each.fails_dual for each in unit.uses)
    can = all(can_be_dual(points_to, each) for each in unit.sites)
    return bool(unit.sites) and is_for_now and not fails and can


def _used_elsewhere(evidence: Evidence, unit: Unit) -> Iterator[Use]:
    """The definitions that a run saw used in files which are not read here."""
    for site in unit.sites:
        for seen in evidence.elsewhere.get(site.node, ())[:1]:
            file, line = from_here(seen.position.file), seen.position.line
            has_changed = seen.position.file in evidence.changed
            problem = (_CHANGED if has_changed else _ELSEWHERE).format(file, line)
            yield Use("FOC218", site.document, site.node, frozenset({site}), problem)
        for seen in evidence.not_understood.get(site.node, ())[:1]:
            file, line = from_here(seen.position.file), seen.position.line
            problem = _NOT_UNDERSTOOD.format(file, line, seen.of, seen.name)
            yield Use("FOC218", site.document, site.node, frozenset({site}), problem)


_NOT_UNDERSTOOD = "`{}:{}` asks the {} for `{}`, without a dot: write it with one."
_CHANGED = "`{0}` has changed since the run: run the program again."
_ELSEWHERE = "`{}:{}` uses this optimizer too: give rewrite that file as well."


def _may_not_average(unit: Unit) -> list[Use]:
    """The steps for which it is not certain that they average gradients, where some do."""
    if not unit.replicates:
        return []
    steps = [each for each in _steps(unit) if not each.axis and not each.is_plain]
    return [dataclasses.replace(each, problem=_MAY_AVERAGE, bridge="") for each in steps]


_MAY_AVERAGE = (
    "The step may average its gradients after `replicate()`, or not: write"
    " `flax.jax_utils.replicate(optimizer)`, and `jax.lax.pmean` where it does."
)


def _asks_leaves(points_to: PointsTo, unit: Unit, document: Document) -> bool:
    """True if a function over the leaves of an optimizer asks them for what only arrays have."""
    for call in document.of_kind(ast.Call):
        trees = map(points_to.values, call.args[1:])
        if (
            points_to.package_names(call.func) & MAPS_TREES
            and sites_of(frozenset[Object]().union(*trees), Optimizer) & {*unit.sites}
            and any(map(_asks_parameter, points_to.functions(call.args[0])))
        ):
            return True
    return False


def _asks_parameter(function: Function) -> bool:
    """True if a function asks one of its parameters for an attribute."""
    asked = (each.value for each in ast.walk(function.node) if isinstance(each, ast.Attribute))
    return any(isinstance(each, ast.Name) and each.id in function.parameters for each in asked)


def _steps(unit: Unit) -> list[Use]:
    return [each for each in unit.uses if each.code in STEPS]


def _may_set(use: Use) -> bool:
    """True if a step has arguments that are not written out one by one."""
    return use.code == "FOC206" and not use.overrides


def _given(steps: Sequence[Use]) -> tuple[str, ...]:
    return tuple(sorted({name for use in steps for name in use.overrides}))


def _bridge_some(unit: Unit, steps: Sequence[Use]) -> list[Use]:
    """The steps, if all are given the same hyper-parameters; else none: the optimizer does them.

    What a step sets is still there in the next one, unless that sets it too.
    """
    if len({frozenset(each.overrides) for each in steps}) <= 1:
        return list(steps)
    unit.bridged += steps
    return []


def _lacking(points_to: PointsTo, unit: Unit) -> frozenset[Site]:
    """The definitions that have no learning rate, or may have none where each step has one."""
    around = [each for each in unit.sites if each.name in ("MultiOptimizer", "WeightNorm")]
    lacking = {
        each for each in unit.sites if each not in around and _may_lack_rate(points_to, unit, each)
    }
    for _ in around:  # one may be in another
        lacking |= {each for each in around if lacking & {*inner_definitions(points_to, each)}}
    return frozenset(lacking)


def _may_lack_rate(points_to: PointsTo, unit: Unit, site: Site) -> bool:
    """True if a definition has no learning rate, or may be given none, or None for one."""
    by_name = (each.value for each in site.node.keywords if each.arg == RATE)
    rate = next(by_name, site.node.args[0] if site.name and site.node.args else None)
    # Whether there is one among what `*` and `**` stand for only shows when the program runs.
    if not (rate is None or isinstance(rate, ast.Starred) or points_to.may_be_none(rate)):
        return False
    is_written_out = site.name and is_certain(points_to, site) and is_spelled_out(site.node)
    return bool(is_written_out) or _may_need_rate(unit, site)


def _start_differently(unit: Unit) -> list[Use]:
    """The first use that gives a TrainState a learning rate where others have one of their own.

    In a loop of jax, those that come out of it must have the same one as those that go in.
    """
    back = [each for each in unit.uses if each.code == "FOC202"]
    back += [each for each in unit.bridged if each.bridge == "returns"]
    with_rate = frozenset[Site | None]().union(
        *(each.sites for each in back if not unit.lacks(each))
    )
    return [
        dataclasses.replace(each, problem=_some_lack_a_rate(unit, with_rate & each.sites))
        for each in back
        if unit.lacks(each) and not with_rate.isdisjoint(each.sites)
    ][:1]


def _some_lack_a_rate(unit: Unit, with_rate: frozenset[Site | None]) -> str:
    one, other = _quoted(unit.lacking), _quoted(with_rate)
    return f"{one} has no learning rate or may be given None, and {other} has one: give each one."


def _quoted(sites: Iterable[Site | None]) -> str:
    """The first of the definitions, with its place."""
    first = min(filter(None, sites), key=lambda each: (str(each.document.path), each.node.lineno))
    return f"`{shown(first.node)}`, {first.document.place(first.node)},"


def _may_need_rate(unit: Unit, site: Site) -> bool:
    """True if steps give a definition a learning rate, and none shows that it has one."""
    steps = [each for each in _steps(unit) if site in each.sites or None in each.sites]
    # A step of several definitions may be without one for those that have it.
    shows = any(each.sites == {site} and not _may_give_rate(each) for each in steps)
    return any(map(_may_give_rate, steps)) and not shows


def _all_give_rate(unit: Unit) -> bool:
    """True if there are steps, and each of them may be given a learning rate."""
    steps = _steps(unit)
    return bool(steps) and all(map(_may_give_rate, steps))


def _may_give_rate(step: Use) -> bool:
    """True if a step is given a learning rate, or arguments that may have one in them."""
    return bool({RATE, "hyper_params"} & {*step.overrides}) or (
        isinstance(step.node, ast.Call) and not is_spelled_out(step.node)
    )


def shared_traversals(points_to: PointsTo, units: Sequence[Unit]) -> dict[Traversal, bool]:
    """The traversals of partitions in optax, and whether they stand inside of one.

    A MultiOptimizer stays that shares its traversal with one that stays.

    Args:
      points_to: what is known of the program.
      units: all of its units, of which some stay for this reason.
    """
    found = {unit: _traversals_of(points_to, unit) for unit in units}
    while True:
        free = [unit for unit in units if unit.converts and not unit.definition_stays]
        others = {each for unit in units if unit not in free for each in found[unit]}
        touched = [unit for unit in free if found[unit].keys() & others]
        if not touched:
            return {each: inline for unit in free for each, inline in found[unit].items()}
        for unit in touched:
            unit.definition_stays = "Another MultiOptimizer, which stays, has the same traversal."


def _traversals_of(points_to: PointsTo, unit: Unit) -> dict[Traversal, bool]:
    found: dict[Traversal, bool] = {}
    for site in unit.sites:
        for pair in site.node.args:
            if site.name == "MultiOptimizer" and isinstance(pair, ast.Tuple | ast.List):
                for traversal in filters_of(points_to, pair.elts[0]):
                    found[traversal] = traversal.node is pair.elts[0]
    # A definition with a focus stays, and others that have its traversal stay with it.
    for focus in _focuses(unit):
        found |= dict.fromkeys(filters_of(points_to, focus), False)
    return found


def _why_definition_stays(points_to: PointsTo, unit: Unit) -> Iterator[str]:
    """The reasons why the definitions of a unit cannot become optax."""
    for use in unit.uses:
        if use.code == "FOC201" or use in unit.bridged:
            yield f"In {use.document.place(use.node)}: {use.problem or _OF_SOME_STEPS}"
    creates = [use for use in unit.uses if use.code == "FOC202"]
    made = frozenset[Site | None]().union(*(use.sites for use in creates))
    made = made.union(*(inner_definitions(points_to, site) for site in unit.sites))
    if {*unit.sites} - made:
        yield f"The text does not show who makes an optimizer of this definition. {RUN_TO_KNOW}"
    for use in creates:
        if reason := why_refused(points_to, use):
            place = use.document.place(use.node)
            yield f"In {place}: {reason}" if len(creates) > 1 else reason
    if _selects(unit) and may_be_models(points_to, unit.documents):
        yield _OTHER_PATHS
    if _focuses(unit):
        yield "The optimizer is created with a `focus`."
    for site in unit.sites:
        if reason := why_no_text(points_to, site, unit.overrides):
            # It is said of all of them, and is the matter of one.
            place = site.document.place(site.node)
            yield f"In {place}: {reason}" if len(unit.sites) > 1 else reason


_OF_SOME_STEPS = "Only some steps of the optimizer are given a hyper-parameter."
_OTHER_PATHS = (
    "The parameters may be a model of `flax.nn`, whose paths are others in a TrainState:"
    " `/params/dense/kernel` for `/dense/kernel`."
)


def _selects(unit: Unit) -> bool:
    """True if an optimizer moves only the parameters that a function of their paths selects."""
    return bool(_focuses(unit)) or any(each.name == "MultiOptimizer" for each in unit.sites)


def _focuses(unit: Unit) -> list[ast.expr]:
    return [focus for focus in map(focus_of, unit.creates) if focus is not None]

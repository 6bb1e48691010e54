"""FOC201 and FOC208: definitions of one optimizer or of several, as optax that does the same."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.finding import Change
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optax_text.text import chain, partition
from flaxoptim_compat.migrate.optimizers.definitions import (
    bound_of,
    change_of,
    in_dual,
    parts_of,
    why_no_text,
)
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.fragments import replaced, span
from flaxoptim_compat.migrate.optimizers.reading import Facts, Reading, code_of
from flaxoptim_compat.migrate.optimizers.recognition import ANY, Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.known_names import DUAL
from flaxoptim_compat.migrate.values.objects import Definition, Site
from flaxoptim_compat.migrate.values.points_to import PointsTo

RULES = (
    Rule("FOC201", "constructor"),
    Rule("FOC208", "multi-optimizer"),
)


def _use(asked: Asked) -> Use | None:
    """The use of an attribute of a definition, which has no counterpart in optax."""
    if isinstance(asked.node.ctx, ast.Store):
        return None
    return asked.use("FOC201", f"The program reads `{asked.node.attr}` of the definition.")


RECOGNISES = Recognises({Definition: {ANY: _use}})


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """Each constructor call; a call inside of another one is a part of its text."""
    facts = reading.facts
    if facts is None:
        return
    for site, unit in facts.definitions(reading.document):
        if (site.name or unit.is_dual) and code == code_of(site):
            yield _found(reading, facts, site, unit)
    if code == "FOC208":
        yield from _traversals(reading, facts)


def _traversals(reading: Reading, facts: Facts) -> Iterator[FoundPlace]:
    """Each traversal that belongs to a MultiOptimizer."""
    for call, is_inline in facts.traversals(reading.document):
        edits = () if is_inline else (replaced(reading, call, span(reading, call.args[0])),)
        what = "a traversal, ModelParamTraversal"
        change = Change(edits, drops=(call.func,))
        yield FoundPlace(call, what, "the function of the traversal", change)


def _found(reading: Reading, facts: Facts, site: Site, unit: Unit) -> FoundPlace:
    """The place of a constructor call."""
    names = " or ".join(f"flax.optim.{name}" for name in sorted(site.names))
    what = f"a definition, {names}" if names else "a definition, or an optimizer made by hand"
    found = functools.partial(FoundPlace, site.node, what)
    if unit.is_dual:
        return _dual(reading, facts, site, unit, found)
    if not unit.converts:
        cause = unit.problems[0].problem if unit.problems else ""
        return found("the definition stays with its optimizer", cause=cause)
    if unit.definition_stays:
        # One of those that stay together says why it does itself.
        own = why_no_text(facts.points_to, site, unit.overrides)
        reason = own or unit.definition_stays
        return found(f"the definition stays. {reason}", cause=reason)
    gone = (in_dual(facts.points_to, site).func, site.node.func)
    if _is_part_of_another(facts, site):
        return found("a part of the optax around it", Change(drops=gone))
    instead, change = "exactly the same in optax", ""
    if reading.accept_changes and reading.writes:
        change = change_of(facts.points_to, site)
        instead = f"the namesake in optax: {change}" if change else instead

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        if not reading.writes:
            return ()
        text = _definition_text(reading, facts.points_to, site, unit, imports)
        return (replaced(reading, in_dual(facts.points_to, site), *text),)

    return found(instead, Change(edits, drops=gone), change=change)


def _dual(
    reading: Reading, facts: Facts, site: Site, unit: Unit, found: functools.partial[FoundPlace]
) -> FoundPlace:
    """The place of a constructor call that stays, whose optimizers become DualTrainStates."""
    first = unit.problems[0]
    why = f"In {first.document.place(first.node)}: {first.problem}"
    if _is_part_of_another(facts, site):
        return found(f"the definition stays, in a dual one. {why}", works=True)
    if in_dual(facts.points_to, site) is not site.node:
        return found(f"the definition is dual. {why}", works=True)

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        dual = imports.name_of(DUAL, site.node)
        # As in the TrainState that it will be, opt_state has a learning rate if steps set one.
        end = ")" if unit.overrides else ", inject=False)"
        return (replaced(reading, site.node, f"{dual}(", span(reading, site.node), end),)

    return found(f"dual(...), for DualTrainStates. {why}", edits)


def _is_part_of_another(facts: Facts, site: Site) -> bool:
    """True if a call stands among the arguments of a MultiOptimizer or a WeightNorm."""
    around = site.document.parents[site.node]
    if isinstance(around, ast.keyword):
        around = site.document.parents[around]
    if isinstance(around, ast.Tuple | ast.List):
        around = site.document.parents[around]
    return around in facts.making


def _definition_text(
    reading: Reading, points_to: PointsTo, site: Site, unit: Unit, imports: ImportPlan
) -> Fragments:
    """The optax expression for a constructor call."""
    name_of = functools.partial(imports.name_of, at=site.node)
    injected, plain, document = unit.overrides, reading.accept_changes, site.document
    if site.name == "MultiOptimizer":
        return partition(parts_of(points_to, site, injected), document, name_of, plain)
    return chain(bound_of(points_to, site), document, name_of, injected, plain)

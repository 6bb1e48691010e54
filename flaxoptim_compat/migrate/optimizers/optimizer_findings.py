"""The places that the rules about optimizers find: their edits, or why there are none."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.steps import bridge_edits
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use

# The edits for a use in a unit that is rewritten, with the imports of the result.
EditsOf = Callable[[Use, Unit, ImportPlan], tuple[Edit, ...]]


def findings(
    reading: Reading,
    code: str,
    what: str,
    instead: str,
    edits_of: EditsOf,
    drops: Callable[[Use, Unit], bool] = lambda use, unit: False,
) -> Iterator[FoundPlace]:
    """One place for each use under a rule, with its edits if its unit is rewritten.

    Args:
      reading: the file.
      code: the rule.
      what: what stands there.
      instead: what replaces it.
      edits_of: the edits for a use in a unit that is rewritten.
      drops: whether the names in a use are gone with them.
    """
    uses = () if reading.facts is None else reading.facts.of(code, reading.document)
    # What is loaded may meet an optimizer in several places, and is one thing to settle.
    once = {(use.node, use.problem): (use, unit) for use, unit in uses if not use.is_plain}
    for use, unit in once.values():
        found = functools.partial(FoundPlace, use.node, what)
        yield _found(reading, found, use, unit, instead, edits_of, drops)


def _found(
    reading: Reading,
    found: functools.partial[FoundPlace],
    use: Use,
    unit: Unit,
    instead: str,
    edits_of: EditsOf,
    drops: Callable[[Use, Unit], bool],
) -> FoundPlace:
    """The place of one use."""
    if unit.converts and use in unit.bridged:
        of = (
            "and a TrainState of it"
            if use.makes
            else "of the optimizer that the TrainState stands for"
        )
        instead = f"the same, {of}: {use.problem}"
        return found(instead, functools.partial(bridge_edits, reading, use, unit))
    here = [each for each in unit.problems if each.node is use.node]
    if unit.converts or (not here and _becomes_plain(reading, use, unit)):
        gone = (use.node,) if drops(use, unit) else ()
        return found(instead, Change(functools.partial(edits_of, use, unit), drops=gone))
    own = next((each for each in here if each.code == use.code), None)
    first = unit.problems[0]
    if own is not None and _is_mixed(own):
        # However many places there are, that is one thing to settle.
        first = next(filter(_is_mixed, unit.problems))
    found = functools.partial(found, works=unit.is_dual)
    stays = "works as it is on a DualTrainState" if unit.is_dual else "it stays"
    if own is not None and (own is first or not _is_mixed(own)):
        text = f"{instead}; {stays}: {own.problem}" if unit.is_dual else own.problem
        return found(text, reason=own.problem)
    if _line(use, first) == _line(use, use):
        instead = f"{instead}; {stays}: {first.problem}"
    else:
        instead = f"{instead}; {stays}, because of {_line(use, first)}"
    return found(instead, cause=first.problem)


def _becomes_plain(reading: Reading, use: Use, unit: Unit) -> bool:
    """True if a use can get a TrainState's name where its optimizer becomes a DualTrainState.

    It keeps the old one where something else may come too, or where a step depends on others.
    """
    assert reading.facts is not None
    if not unit.is_dual or use.problem or reading.facts.points_to.gave_up:
        return False
    if use.code == "FOC205":
        of_flax = all(each is not None and each.name for each in use.sites)
        return of_flax and not unit.replicates
    return use.code in ("FOC203", "FOC204", "FOC207", "FOC212") and None not in use.sites


def _is_mixed(use: Use) -> bool:
    """True if a use is of something that may be an optimizer or something else."""
    return use.is_doubt and use.code == "FOC219"


def _line(use: Use, other: Use) -> str:
    """The line of another use, as it is named beside this one."""
    line = other.document.position(other.start)[0]
    return f"line {line}" if other.document is use.document else f"{other.document.path}:{line}"

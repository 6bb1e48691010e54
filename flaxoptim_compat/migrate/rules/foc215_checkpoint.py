"""FOC215: checkpoints, in which a TrainState has other entries than an optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.optimizers.checkpoints import restores
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.reading import Facts, Reading
from flaxoptim_compat.migrate.optimizers.restored_elsewhere import stored_entries
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC215", "checkpoint", is_rewritten=False)


def find(reading: Reading) -> Iterator[FoundPlace]:
    """Each restored optimizer, and each entry that only an optimizer has in a checkpoint."""
    facts, document = reading.facts, reading.document
    if facts is None:
        return
    uses = [use for use, _ in facts.of(RULE.code, document)]
    # Some uses hold an optimizer back only because another one moves.
    staying = [unit for unit in facts.units if not unit.is_dual]
    uses += [each for unit in staying for each in unit.problems if each.code == RULE.code]
    holding = {use.node: use.problem for use in uses if use.problem}
    moves = _moves_something(facts, document)
    for call in document.of_kind(ast.Call) if moves or holding else ():
        if call in holding or (moves and restores(facts.points_to, call)):
            reason = holding.get(call, "")
            becomes = None if reason else ()
            yield FoundPlace(call, "an optimizer is restored", _CONVERT, becomes, reason)
    # What is read may be stored by any program, as by one in another folder.
    for node, today in stored_entries(facts.points_to, document) if facts.moves_some else ():
        reason = f"A saved optimizer has this entry; a saved TrainState has `{today}`."
        yield FoundPlace(node, _ENTRY, f"{today} of a TrainState", reason=reason)


def _moves_something(facts: Facts, document: Document) -> bool:
    """True if optimizers become TrainStates where a file runs; if it has none, in its folder."""
    together = facts.points_to.processes.together_with(document)
    near = [unit for unit in facts.units if not together.isdisjoint(unit.documents)]
    beside = (
        unit
        for unit in facts.units
        if any(each.path.parent == document.path.parent for each in unit.documents)
    )
    return any(unit.moves for unit in near or beside)


_CONVERT = "flaxoptim-compat checkpoint convert, for checkpoints that were saved before"
_ENTRY = "an entry of an optimizer in a checkpoint"

"""From what all rules found in a file to edits, whatever the order in which they were asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan


def settled(findings: Iterable[Finding], plans: Mapping[str, ImportPlan]) -> list[Finding]:
    """The findings in the order of their places, with their edits.

    What is wanted of an import depends on which others go, and a name that one rule writes anew
    with all that is around it is none for another rule. So everything that goes or moves is noted
    first, and then each place gets its text, from the first to the last in the file.

    Args:
      findings: of all rules.
      plans: for each target whose edits are wanted the imports of the file; they are complete
        afterwards. Of another one only is told what it does something about.
    """
    ordered = sorted(findings, key=lambda each: (each.start, each.code, each.end, each.what))
    edits = {}
    for target in ("shim", "optax"):
        changes = [each.change_for(target) for each in ordered]
        if target in plans:
            edits[target] = list(_edits(changes, plans[target]))
        else:
            edits[target] = [None if each is None else () for each in changes]
    return [
        dataclasses.replace(each, shim=shim, optax=optax)
        for each, shim, optax in zip(ordered, edits["shim"], edits["optax"], strict=True)
    ]


def _edits(
    found: Sequence[tuple[Edit, ...] | Change | None], plan: ImportPlan
) -> Iterator[tuple[Edit, ...] | None]:
    changes = [each for each in found if isinstance(each, Change)]
    for change in changes:
        for alias, name in change.moves.items():
            plan.redirect(alias, name)
        if change.unless is None:
            _drop(change, plan)
    overtaken: set[int] = set()
    for number, change in enumerate(changes):
        if change.unless is None:
            continue
        if plan.is_released(change.unless):
            overtaken.add(number)
        else:
            _drop(change, plan)
    numbers = iter(range(len(changes)))
    for each in found:
        if not isinstance(each, Change):
            yield each
        else:
            yield () if next(numbers) in overtaken else each.made(plan)


def _drop(change: Change, plan: ImportPlan) -> None:
    for node in change.drops:
        plan.release(node)

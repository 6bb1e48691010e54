"""The findings of rules in a file, and the edits that they become together."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan

# The beginning of the codes of rules about optimizers, which change several files at once or none.
OF_OPTIMIZERS = "FOC2"


@dataclasses.dataclass(frozen=True)
class Change:
    """The edits that one rule makes at a place, which depend on the imports after all other rules.

    Args:
      edits: the edits, or a function that makes them once it is known which imports go.
      drops: the code with names in it that will be gone.
      moves: import aliases, and the names that they bring from now on; see ``ImportPlan.redirect``.
      unless: the node of a use; if another change drops it, this change does nothing.
    """

    edits: tuple[Edit, ...] | Callable[[ImportPlan], tuple[Edit, ...]] = ()
    drops: tuple[ast.expr, ...] = ()
    moves: Mapping[ast.alias, str] = dataclasses.field(default_factory=dict)
    unless: ast.expr | None = None

    def made(self, imports: ImportPlan) -> tuple[Edit, ...]:
        """The edits, with these imports."""
        return self.edits(imports) if callable(self.edits) else self.edits


@dataclasses.dataclass(frozen=True)
class Finding:
    """A place that a rule found, what replaces it, and what ``rewrite`` does about it.

    Args:
      code: the rule, such as ``FOC101``.
      start: the offset at which the code starts in the text of the document.
      end: the offset at which it ends.
      what: the name of the code in a sentence: ``flax.optim.Adam, gone since flax 0.6.0``.
      instead: the code that replaces it, or the advice.
      shim: the edits of ``rewrite --to shim``, or the change that makes them; empty if the code
        works as it is, None if ``rewrite`` leaves the code to people.
      optax: likewise for ``rewrite --to optax``.
      reason: why ``rewrite`` leaves the code; also the text of the comment above it.
      change: how far the numbers will be from those of before; "" if they stay the same.
      cause: the reason of another place, for which this one is left; "" if there is none.
      works: whether the code works as it is in the program as ``--to optax`` writes it.
    """

    code: str
    start: int
    end: int
    what: str
    instead: str
    shim: tuple[Edit, ...] | Change | None = ()
    optax: tuple[Edit, ...] | Change | None = ()
    reason: str = ""
    change: str = ""
    cause: str = ""
    works: bool = False

    def edits(self, target: str) -> tuple[Edit, ...] | None:
        """The edits for ``shim`` or for ``optax``, once they are settled for this target."""
        edits = self.change_for(target)
        assert not isinstance(edits, Change)
        return edits

    def change_for(self, target: str) -> tuple[Edit, ...] | Change | None:
        """The edits, or the Change, for ``shim`` or for ``optax``; None if the place stays."""
        return self.shim if target == "shim" else self.optax


def settled(findings: Iterable[Finding], target: str, plan: ImportPlan) -> list[Finding]:
    """The findings in their order, with their edits for one target.

    The name of an import depends on which other imports go, and a name inside of code that one rule
    writes anew needs no other rule. So all names that go or move are noted first, and then each
    place gets its text, from the first to the last in the file.

    Args:
      findings: the findings of all rules, in the order of their places.
      target: ``shim`` or ``optax``.
      plan: the imports of the file for this target, which is complete afterwards.
    """
    result = [*findings]
    wanted = ((number, each.change_for(target)) for number, each in enumerate(result))
    changes = {number: change for number, change in wanted if isinstance(change, Change)}
    for change in changes.values():
        for alias, name in change.moves.items():
            plan.redirect(alias, name)
        if change.unless is None:
            _drop(change, plan)
    for number, change in changes.items():
        if change.unless is None:
            continue
        if plan.is_released(change.unless):
            changes[number] = Change()
        else:
            _drop(change, plan)
    for number, change in changes.items():
        edits: dict[str, Any] = {target: change.made(plan)}
        result[number] = dataclasses.replace(result[number], **edits)
    return result


def _drop(change: Change, plan: ImportPlan) -> None:
    for node in change.drops:
        plan.release(node)

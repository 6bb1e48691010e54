"""The findings of rules about places in a file, and how they become the edits of the file."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan

# How the codes of the rules about optimizers begin, which change several files at once or none.
OF_OPTIMIZERS = "FOC2"


@dataclasses.dataclass(frozen=True)
class Change:
    """The changes that one rule wants at a place; the names in them depend on the other rules.

    Args:
      edits: the edits; or what makes them with the imports of the result, once all is known that
        goes.
      drops: the nodes of uses that will be gone.
      moves: import aliases, and what they bring from now on, as ``ImportPlan.redirect`` has it.
      unless: the node of a use; if another change drops it, this one has nothing to do.
    """

    edits: tuple[Edit, ...] | Callable[[ImportPlan], tuple[Edit, ...]] = ()
    drops: tuple[ast.expr, ...] = ()
    moves: Mapping[ast.alias, str] = dataclasses.field(default_factory=dict)
    unless: ast.expr | None = None

    def made(self, imports: ImportPlan) -> tuple[Edit, ...]:
        """The edits; where a function makes them, it is given these imports."""
        return self.edits(imports) if callable(self.edits) else self.edits


@dataclasses.dataclass(frozen=True)
class Finding:
    """A place that a rule found, what replaces it, and what ``rewrite`` does about it.

    Args:
      code: the rule, such as ``FOC101``.
      start: where it starts in the text of the document.
      end: where it ends.
      what: what it is, such as ``flax.optim.Adam, gone since flax 0.6.0``.
      instead: what replaces it, or what to do about it.
      shim: the edits of ``rewrite --to shim``, or how they come about; none are needed if it is
        empty, and None means that it leaves the place as it is.
      optax: the same of ``rewrite --to optax``.
      reason: why ``rewrite`` leaves it; this is the text of the comment that marks the place.
      change: how far the numbers will be from those of before; "" if they stay the same.
      cause: the reason of another place, for which this one stays; "" if there is none.
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

    def edits(self, target: str) -> tuple[Edit, ...] | None:
        """The edits for ``shim`` or for ``optax``, once they are settled."""
        found = self.change_for(target)
        assert not isinstance(found, Change)
        return found

    def change_for(self, target: str) -> tuple[Edit, ...] | Change | None:
        """The edits, or the Change, for ``shim`` or for ``optax``; None if the place stays."""
        return self.shim if target == "shim" else self.optax


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
            edits[target] = list(_settled_edits(changes, plans[target]))
        else:
            edits[target] = [None if each is None else () for each in changes]
    return [
        dataclasses.replace(each, shim=shim, optax=optax)
        for each, shim, optax in zip(ordered, edits["shim"], edits["optax"], strict=True)
    ]


def _settled_edits(
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

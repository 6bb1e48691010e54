"""What a rule says: a place in a file, what replaces it, and the edits for each target."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan


@dataclasses.dataclass(frozen=True)
class Change:
    """What becomes of a place, as far as one rule can say: names depend on what others do.

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
        """The edits."""
        return self.edits(imports) if callable(self.edits) else self.edits


@dataclasses.dataclass(frozen=True)
class Finding:
    """What stands where, what replaces it, and what ``rewrite`` does about it.

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
        """What becomes of it for ``shim`` or for ``optax``."""
        return self.shim if target == "shim" else self.optax

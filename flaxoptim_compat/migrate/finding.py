"""One place in a program that a rule has something to say about."""

from __future__ import annotations

import dataclasses

from flaxoptim_compat.migrate.edits import Edit


@dataclasses.dataclass(frozen=True)
class Finding:
    """What stands where, what replaces it, and what ``rewrite`` does about it.

    Args:
      code: the rule, such as ``FOC101``.
      start: where it starts in the text of the document.
      end: where it ends.
      what: what it is, such as ``flax.optim.Adam, gone since flax 0.6.0``.
      instead: what replaces it, or what to do about it.
      shim: the edits of ``rewrite --to shim``; none are needed if it is empty, and None means
        that it leaves the place as it is.
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
    shim: tuple[Edit, ...] | None = ()
    optax: tuple[Edit, ...] | None = ()
    reason: str = ""
    change: str = ""
    cause: str = ""

    def edits(self, target: str) -> tuple[Edit, ...] | None:
        """The edits for ``shim`` or for ``optax``."""
        return self.shim if target == "shim" else self.optax

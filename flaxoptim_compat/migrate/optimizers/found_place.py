"""A place that a rule found, with its change for the targets of the rule."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS, Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.reading import Reading


class FoundPlace(NamedTuple):
    """A place that a rule found, which becomes a finding unless a comment forbids it.

    Args:
      at: the code.
      what: the name of the code in a sentence.
      instead: the code that replaces it, or the advice.
      becomes: the edits, or the change that makes them; None if the code stays.
      reason: why the code stays; if it is empty, ``what`` and ``instead`` say so.
      cause: the reason of another place, for which this one stays.
      change: how far the numbers will be from those of before; "" if they stay the same.
      only_shim: whether ``--to optax`` leaves the code to people.
      works: whether the code works as it is in the program as ``--to optax`` writes it.
    """

    at: ast.expr | ast.stmt | ast.alias | Span
    what: str
    instead: str
    becomes: tuple[Edit, ...] | Callable[[ImportPlan], tuple[Edit, ...]] | Change | None = None
    reason: str = ""
    cause: str = ""
    change: str = ""
    only_shim: bool = False
    works: bool = False

    def finding(self, code: str, reading: Reading) -> Finding | None:
        """The finding of a rule; None where a comment says that the place is to stay."""
        document = reading.document
        span = self.at if isinstance(self.at, Span) else Span(*document.span(self.at))
        if not reading.allows_on(document.position(span.start)[0], code):
            return None
        found = functools.partial(Finding, code, *span, self.what, self.instead, cause=self.cause)
        becomes = Change(self.becomes) if callable(self.becomes) else self.becomes
        if code.startswith(OF_OPTIMIZERS):
            # With --to shim, all of this works as it is.
            texts = {"reason": self.reason, "change": self.change}
            return found((), becomes, **texts, works=self.works)
        optax = None if self.only_shim else becomes
        reason = self.reason
        if becomes is None and not (reason or self.cause):
            reason = f"{self.what}: {self.instead}"
        return found(becomes, optax, reason=reason, works=self.works)

"""A rule, without the text about it, which is on its page."""

from __future__ import annotations

from typing import NamedTuple

from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS


class Rule(NamedTuple):
    """A rule, whose page is ``migration_guide/rules/CODE.md``.

    Args:
      code: ``FOC`` and three digits; it never changes and is never used again.
      name: a few words joined by hyphens.
      is_rewritten: whether there is code that ``rewrite`` changes by this rule.
    """

    code: str
    name: str
    is_rewritten: bool = True

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that code is rewritten for by this rule; none if it is only reported."""
        if not self.is_rewritten:
            return ()
        return ("optax",) if self.code.startswith(OF_OPTIMIZERS) else ("shim", "optax")

"""One file as the rules see it: its text, its names, and its optimizers."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping

from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.optimizers.facts import Facts
from flaxoptim_compat.migrate.program.document import Document


@dataclasses.dataclass(eq=False)
class Reading:
    """What a rule's ``find`` gets.

    Args:
      document: the file.
      names: what the names in it refer to.
      ignored: for each line the codes that are not to be reported there; "" stands for all.
      facts: which expressions are optimizers; None if the program has none.
      writes: whether texts in optax are wanted; else only findings are, and edits may be empty.
      accept_changes: whether definitions may become their nearest in plain optax.
    """

    document: Document
    names: Names
    ignored: Mapping[int, frozenset[str]] = dataclasses.field(default_factory=dict)
    facts: Facts | None = None
    writes: bool = True
    accept_changes: bool = False

    def allows(self, code: str, node: ast.expr | ast.stmt | ast.alias) -> bool:
        """Whether a finding of this code is wanted at this place.

        Args:
          code: the rule.
          node: what would be reported.
        """
        return self.allows_on(node.lineno, code)

    def allows_on(self, line: int, code: str) -> bool:
        """Whether a finding of this code is wanted on this line."""
        codes = self.ignored.get(line, frozenset())
        return not ({code, ""} & codes)

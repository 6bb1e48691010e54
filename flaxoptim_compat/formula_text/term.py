"""A hyper-parameter as it stands in a text: as a number, or as a name where there is no number."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from flaxoptim_compat import syntax

# The value of what only a run of the program tells.
UNKNOWN = object()


@dataclasses.dataclass(frozen=True, eq=False)
class Term:
    """The expression of a value in the text.

    Args:
      node: its expression.
      value: the value, or ``UNKNOWN``.
      assumed: whether nobody wrote it down, so that it goes where optax assumes the same.
    """

    node: ast.expr
    value: Any = UNKNOWN
    assumed: bool = False

    @classmethod
    def of(cls, value: Any) -> Term:
        """The term of a number, a truth value, None or a dtype; that of a term is itself."""
        if isinstance(value, Term):
            return value
        # Of those, only a dtype has a name.
        name = getattr(value, "name", None)
        return cls(ast.Constant(value), value) if name is None else cls.of_dtype(name)

    @classmethod
    def of_dtype(cls, name: str) -> Term:
        """The term of the dtype with this name."""
        return cls(syntax.dotted(f"jnp.{name}"))

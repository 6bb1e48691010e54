"""One use of a name that is gone."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments, Span
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.successors.successor import Successor

# The edits of a use, for the imports that a target plans.
Making = Callable[[ImportPlan], tuple[Edit, ...]]

_COMMENT = re.compile(r"#[^\n]*")

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Dict)


@dataclasses.dataclass(frozen=True)
class Rearranged:
    """What becomes of a use.

    Args:
      start: where what changes starts.
      end: where it ends.
      instead: what it becomes, for people.
      make: the edits.
      removed: names besides that of the use that will be gone.
    """

    start: int
    end: int
    instead: str
    make: Making
    removed: tuple[ast.expr, ...] = ()


@dataclasses.dataclass(frozen=True)
class LostUse:
    """One use of a name that is gone.

    Args:
      reading: the file.
      node: the name, without attributes that are looked up on it.
      successor: what takes its place.
    """

    reading: Reading
    node: ast.expr
    successor: Successor

    @property
    def parent(self) -> ast.AST:
        """The node around it."""
        return self.reading.document.parents[self.node]

    @property
    def call(self) -> ast.Call | None:
        """The call of it, if it is called."""
        parent = self.parent
        return parent if isinstance(parent, ast.Call) and parent.func is self.node else None

    def span(self, node: ast.expr) -> Span:
        """Where a node stands."""
        return Span(*self.reading.document.span(node))

    def plain_arguments(self, names: str, most: int | None = None) -> list[ast.expr] | None:
        """The arguments of the call, if they are written in an order that is certain.

        Args:
          names: the names of the keywords that may be among them.
          most: how many may be given by position.

        Returns:
          Those by position; None if there are unpacked ones, too many or other keywords.
        """
        call = self.call
        if call is None or any(isinstance(each, ast.Starred) for each in call.args):
            return None
        if any(each.arg not in names.split() for each in call.keywords):
            return None
        return call.args if most is None or len(call.args) <= most else None

    def insertion(self, text: str) -> Edit | None:
        """Insert an argument after the last one of the call; None where it is not plain where."""
        call = self.call
        assert call is not None
        last = arguments_of(call)[-1]
        start, end = self.span(last).end, self.span(call).end
        rest = _COMMENT.sub("", self.reading.document.text[start:end])
        if "".join(rest.split()) not in (")", ",)"):
            return None  # the last one stands in parentheses of its own
        return Edit(start, start, (text,))

    def atom(self, node: ast.expr) -> Fragments:
        """A piece that an attribute can be looked up on."""
        span = self.span(node)
        return (span,) if isinstance(node, _ATOMS) else ("(", span, ")")


Rearrangement = Callable[[LostUse], Rearranged | None]

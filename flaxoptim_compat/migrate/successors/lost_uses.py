"""One use of a name that is gone, and statements around it that come and go."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments, Span
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.program.document import Document
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


def without(document: Document, statement: ast.stmt) -> Edit:
    """Take a statement out, and its line with it if nothing else stands there.

    Args:
      document: the file.
      statement: the statement.
    """
    start, end = document.span(statement)
    text = document.text
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    front, behind = text[line_start:start].strip(), text[end:line_end].strip()
    if _is_alone(document, statement) or front or not (behind == "" or behind.startswith("#")):
        # A block needs a statement, and so does what stands before or after a semicolon.
        return Edit(start, end, ("pass",))
    if behind:
        return Edit(start, text.index("#", end), ())  # the comment stays
    body = document.parents[statement]
    if isinstance(body, ast.Module):
        # What stood in a paragraph of its own leaves no hole.
        before = text[:line_start].endswith("\n\n")
        while before and text.startswith("\n", line_end + 1):
            line_end += 1
    return Edit(line_start, min(line_end + 1, len(text)), ())


def _is_alone(document: Document, statement: ast.stmt) -> bool:
    """Whether it is the only statement of its block."""
    parent = document.parents[statement]
    if isinstance(parent, ast.Module):
        return False
    blocks = [getattr(parent, name, None) for name in ("body", "orelse", "finalbody")]
    return any(isinstance(block, list) and block == [statement] for block in blocks)


class Gap(NamedTuple):
    """A place for statements behind the imports at the top of a file.

    Args:
      start: where it is, at the start of a line.
      before: what sets it off from the imports.
      after: what sets it off from what follows, if there is no blank line.
      following: the statement that comes next, or the last import if none does.
    """

    start: int
    before: str
    after: str
    following: ast.stmt

    def edits(self, line: str) -> tuple[Edit, ...]:
        """Put a line there; those of several rules stand together."""
        return (
            Edit(self.start, self.start, (self.before,)),
            Edit(self.start, self.start, (f"{line}\n{self.after}",)),
        )


def gap_after_imports(document: Document) -> Gap | None:
    """The place behind the imports at the top of a file; None if there are none.

    Args:
      document: the file.
    """
    body, text = document.tree.body, document.text
    last = -1
    for index, each in enumerate(body):
        if isinstance(each, ast.Import | ast.ImportFrom):
            last = index
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If):
            break
    if last < 0:
        return None
    line_end = text.find("\n", document.span(body[last])[1])
    following = body[last + 1] if last + 1 < len(body) else body[last]
    if line_end < 0:
        return Gap(len(text), "\n\n", "", following)
    is_set_off = text.startswith("\n", line_end + 1) or line_end + 1 == len(text)
    return Gap(line_end + 1, "\n", "" if is_set_off else "\n", following)

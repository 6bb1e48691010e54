"""Statements that come to stand behind the imports of a file, and statements that go."""

from __future__ import annotations

import ast
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.program.document import Document


def without(document: Document, statement: ast.stmt) -> Edit:
    """Take a statement out, and its line with it if nothing else stands there.

    Args:
      document: the file.
      statement: the statement.
    """
    start, end = document.span(statement)
    text, block = document.text, document.block(statement)
    is_top = block is document.tree.body
    if (block == [statement] and not is_top) or not document.has_its_lines(statement):
        # A block needs a statement, and so does what stands before or after a semicolon.
        return Edit(start, end, ("pass",))
    if document.behind(statement).strip():
        return Edit(start, text.index("#", end), ())  # the comment stays
    line_start, line_end = start - len(document.before(statement)), document.line_end(end)
    if is_top:
        # What stood in a paragraph of its own leaves no hole.
        before = text[:line_start].endswith("\n\n")
        while before and text.startswith("\n", line_end + 1):
            line_end += 1
    return Edit(line_start, min(line_end + 1, len(text)), ())


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

"""The blocks of import statements in a text, with the comments that belong to each statement."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Sequence

from flaxoptim_compat.migrate.document import Document

# Comments that a statement takes along, also where it is the first of its block.
_MARK = re.compile(r"[ \t]*# FOC\d{3}: ")
# What no statement is taken across: the end of a cell, and what isort is told.
_BOUNDARY = re.compile(r"#\s*(?:flaxoptim-compat: cell|isort:)")
Statement = ast.Import | ast.ImportFrom


@dataclasses.dataclass(frozen=True)
class Line:
    """One import statement as it stands in the text, on lines of its own.

    Args:
      module: what comes after ``from``, with its dots; of a plain import the first module.
      is_plain: whether there is no ``from``.
      names: what is imported, and the name it gets, or "".
      text: the statement, with the comment behind it.
      above: the lines of comments above it.
      gap: how many blank lines stand above those.
    """

    module: str
    is_plain: bool
    names: tuple[tuple[str, str], ...]
    text: str
    above: tuple[str, ...] = ()
    gap: int = 0

    @property
    def root(self) -> str:
        """The package that it is from; "." in the package of the file."""
        return "." if self.module.startswith(".") else self.module.partition(".")[0]

    @property
    def bound(self) -> dict[str, str]:
        """The names that it binds, and what each stands for."""
        if self.is_plain:
            roots = {name: name.partition(".")[0] for name, _ in self.names}
            return {
                asname or roots[name]: name if asname else roots[name]
                for name, asname in self.names
            }
        return {asname or name: f"{self.module}.{name}" for name, asname in self.names}

    @property
    def written(self) -> str:
        """It and its comments."""
        return "\n".join([*self.above, self.text])


@dataclasses.dataclass(frozen=True)
class Block:
    """Import statements that follow each other.

    Args:
      start: the offset of its first line.
      end: the offset behind its last statement, before the end of that line.
      text: what stands there.
      indentation: what its lines begin with.
      lines: the statements.
      behind: how many blank lines follow.
      following: the statement that follows; None at the end of what it stands in.
      before_comment: whether a comment comes before that.
    """

    start: int
    end: int
    text: str
    indentation: str
    lines: tuple[Line, ...]
    behind: int
    following: ast.stmt | None
    before_comment: bool


def blocks(document: Document) -> Iterator[Block]:
    """All blocks of imports, in functions and conditions too, in no particular order.

    Args:
      document: the text.
    """
    around: list[ast.AST] = [document.tree]
    for node in around:
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield from _blocks_in(document, body)
                around += body
        around += getattr(node, "handlers", ())
        around += getattr(node, "cases", ())


def laid_out(lines: Sequence[Line]) -> str:
    """The text of statements with the blank lines that they have between them.

    Args:
      lines: the statements.
    """
    parts = ["\n" * (line.gap + 1) * bool(index) + line.written for index, line in enumerate(lines)]
    return "".join(parts)


def _blocks_in(document: Document, body: Sequence[ast.stmt]) -> Iterator[Block]:
    run: list[Statement] = []
    for index, each in enumerate([*body, None]):
        if isinstance(each, Statement) and _stands_alone(document, each):
            if run and _is_apart(document, run[-1], each):
                yield _block(document, run, each)
                run = []
            run.append(each)
        elif run:
            yield _block(document, run, body[index] if index < len(body) else None)
            run = []


def _stands_alone(document: Document, statement: ast.stmt) -> bool:
    """Whether no other statement shares its lines."""
    start, end = document.span(statement)
    before = document.text[document.text.rfind("\n", 0, start) + 1 : start]
    behind = document.text[end : _line_end(document, end)].strip()
    return not before.strip() and (not behind or behind.startswith("#"))


def _is_apart(document: Document, one: ast.stmt, other: ast.stmt) -> bool:
    between = document.lines[_last(one) : other.lineno - 1]
    return any(_BOUNDARY.match(each.strip()) for each in between)


def _block(
    document: Document, statements: Sequence[Statement], following: ast.stmt | None
) -> Block:
    lines = document.lines
    first = statements[0].lineno - 1
    while first and _MARK.match(lines[first - 1]):
        first -= 1
    found: list[Line] = []
    done = first
    for each in statements:
        above = [line.rstrip("\n") for line in lines[done : each.lineno - 1]]
        comments = tuple(line for line in above if line.strip())
        start = document.line_starts[each.lineno - 1]
        text = document.text[start : _line_end(document, document.span(each)[1])]
        found.append(_line(each, text, comments, len(above) - len(comments)))
        done = _last(each)
    behind = 0
    while done + behind < len(lines) and not lines[done + behind].strip():
        behind += 1
    rest = lines[done + behind] if done + behind < len(lines) else ""
    indentation = lines[statements[0].lineno - 1][: statements[0].col_offset]
    start, end = document.line_starts[first], _line_end(document, document.span(statements[-1])[1])
    return Block(
        start,
        end,
        document.text[start:end],
        indentation,
        tuple(found),
        behind,
        following,
        rest.lstrip().startswith("#"),
    )


def _line(statement: Statement, text: str, above: tuple[str, ...], gap: int) -> Line:
    names = tuple((each.name, each.asname or "") for each in statement.names)
    if isinstance(statement, ast.Import):
        return Line(names[0][0], True, names, text, above, gap)
    module = "." * statement.level + (statement.module or "")
    return Line(module, False, names, text, above, gap)


def _last(statement: ast.stmt) -> int:
    assert statement.end_lineno is not None
    return statement.end_lineno


def _line_end(document: Document, offset: int) -> int:
    found = document.text.find("\n", offset)
    return len(document.text) if found < 0 else found

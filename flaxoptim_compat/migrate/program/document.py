"""One file: its Python, parsed, and where each node stands in the text."""

from __future__ import annotations

import ast
import bisect
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from flaxoptim_compat.versions.of_python import parser_survives, warnings_ignored

Node = TypeVar("Node", bound=ast.AST)

# Rules walk the tree recursively.
_MOST_NESTED = 800
TOO_DEEP = "the code is nested too deeply"
# Fields that hold no nodes, or none but operators and contexts, which are shared.
_PLAIN_FIELDS = {
    *("arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs"),
    *("level", "module", "op", "ops", "rest", "simple", "tag", "type_comment", "type_ignores"),
}


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """For each kind of node the fields that can hold nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = () if issubclass(kind, ast.Constant) else kind._fields
        self[kind] = tuple(name for name in fields if name not in _PLAIN_FIELDS)
        return self[kind]


FIELDS = _Fields()


class _TreeWalk(NamedTuple):
    """The result of one walk over a tree, from the outermost nodes to the innermost."""

    parents: dict[ast.AST, ast.AST]
    imports: list[ast.Import | ast.ImportFrom]
    depth: int


@dataclasses.dataclass(eq=False)
class Document:
    r"""The Python of one file; of a notebook, that of its code cells one after the other.

    Places are offsets into ``text``, counted in characters.

    Args:
      path: the file.
      text: the Python, with ``\n`` at the ends of lines.
      tree: ``ast.parse`` of the text.
      module: the dotted name under which other files of the project import it; "" if none can.
      is_package: whether it is the ``__init__.py`` of that module.
      magics: the magics of a notebook that some lines stand for, by the numbers of these lines.
      quoted: the expressions of annotations in quotes that name what may be gone.
    """

    path: Path
    text: str = dataclasses.field(repr=False)
    tree: ast.Module = dataclasses.field(repr=False)
    module: str = ""
    is_package: bool = False
    magics: Mapping[int, str] = dataclasses.field(default_factory=dict, repr=False)
    quoted: dict[ast.Constant, ast.expr] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def is_gin(self) -> bool:
        """True for a file of gin, which names objects of Python but is not Python."""
        return self.path.suffix == ".gin"

    @functools.cached_property
    def line_starts(self) -> list[int]:
        """The offset at which each line starts."""
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    @functools.cached_property
    def lines(self) -> list[str]:
        """The lines, with their ends."""
        # Only \n ends a line for Python; str.splitlines knows ten more.
        return [f"{line}\n" for line in self.text.split("\n")]

    def offset(self, line: int, column: int) -> int:
        """The offset of a place in the coordinates of ``ast``: a column in bytes of UTF-8."""
        text = self.lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self.line_starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.alias | ast.keyword) -> tuple[int, int]:
        """The offsets at which a node starts and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.offset(node.lineno, node.col_offset)
        return start, self.offset(node.end_lineno, node.end_col_offset)

    def source(self, node: ast.expr | ast.stmt | ast.alias | ast.keyword) -> str:
        """The text of a node, as it stands in the file."""
        start, end = self.span(node)
        return self.text[start:end]

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of a place, both counted from 1, the column in characters."""
        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    @property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node; operators and contexts, which are shared, have none."""
        return self._walk.parents

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes, those outside before those inside."""
        return [self.tree, *self.parents]

    def of_kind(self, kind: type[Node]) -> Sequence[Node]:
        """All nodes of one kind, those outside before those inside."""
        nodes: Sequence[Node] = self._by_kind.get(kind, ())
        return nodes

    @functools.cached_property
    def _by_kind(self) -> dict[type[ast.AST], Any]:
        by_kind: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.nodes:
            by_kind.setdefault(type(node), []).append(node)
        return by_kind

    @property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The import statements, wherever they stand."""
        return self._walk.imports

    @property
    def is_too_deep(self) -> bool:
        """True if its nodes are nested too deeply for a recursive walk over the tree."""
        return self._walk.depth > _MOST_NESTED

    @functools.cached_property
    def _walk(self) -> _TreeWalk:
        parents: dict[ast.AST, ast.AST] = {}
        imports: list[ast.Import | ast.ImportFrom] = []
        depth = 0
        level: list[ast.AST] = [self.tree]
        while level:
            depth += 1
            below: list[ast.AST] = []
            for node in level:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    imports.append(node)
                for name in FIELDS[type(node)]:
                    child = getattr(node, name, None)
                    if type(child) is list:
                        for each in child:
                            if isinstance(each, ast.AST):
                                parents[each] = node
                                below.append(each)
                    elif isinstance(child, ast.AST):
                        parents[child] = node
                        below.append(child)
            level = below
        return _TreeWalk(parents, imports, depth)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that a node is a part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The block of statements in which a statement stands."""
        parent = self.parents[statement]
        blocks = (getattr(parent, name, None) for name in ("body", "orelse", "finalbody"))
        return next(each for each in blocks if isinstance(each, list) and statement in each)

    def line_end(self, offset: int) -> int:
        """The offset at which the line of a place ends."""
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end

    def first_line(self, statement: ast.stmt) -> int:
        """The line, counted from 1, on which a statement or the first of its decorators starts."""
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        return min([statement.lineno, *(each.lineno for each in decorators)])

    @functools.cached_property
    def first_lines(self) -> dict[int, int]:
        """For each line of a statement the first line of the innermost one around it."""
        first_lines: dict[int, int] = {}
        # The outer statements come before the inner ones.
        for node in self.parents:
            if isinstance(node, ast.stmt):
                start = first = self.first_line(node)
                if start == node.lineno and self.before(node).strip():
                    # The statement stands behind another one, which may have started lines before.
                    first = first_lines[start]
                assert node.end_lineno is not None
                first_lines.update(dict.fromkeys(range(start, node.end_lineno + 1), first))
        return first_lines

    def before(self, statement: ast.stmt) -> str:
        """The text before a statement on its first line."""
        start = self.span(statement)[0]
        return self.text[self.text.rfind("\n", 0, start) + 1 : start]

    def behind(self, statement: ast.stmt) -> str:
        """The text behind a statement on its last line."""
        end = self.span(statement)[1]
        return self.text[end : self.line_end(end)]

    def has_its_lines(self, statement: ast.stmt) -> bool:
        """True if a statement shares its lines with no other statement; a comment may be there."""
        behind = self.behind(statement).strip()
        return not self.before(statement).strip() and behind[:1] in ("", "#")

    def place(self, node: ast.expr | ast.stmt) -> str:
        """The place of a node in a message: the name of the file, and the line."""
        return f"{self.path.name}:{node.lineno}"

    def variables_of(
        self, node: ast.AST
    ) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module:
        """The innermost function or ``lambda`` that a node is or stands in; else the file."""
        while not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module
        ):
            node = self.parents[node]
        return node

    def is_in_f_string(self, node: ast.AST) -> bool:
        """True if a node stands in an f-string, in which quotation marks may end the string."""
        while not isinstance(node, ast.stmt):
            if isinstance(node, ast.JoinedStr):
                return True
            node = self.parents[node]
        return False


class Unparsable(Exception):
    """Text that is no Python.

    Args:
      line: the line of the error, from 1; 0 if it is not known.
      message: the reason.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line
        self.message = message


def parse(text: str) -> ast.Module:
    """The syntax tree of a module, without the warnings of Python.

    Raises:
      Unparsable: the text is no Python of this version, or nested too deeply for its parser.
    """
    if not parser_survives(text):
        raise Unparsable(0, TOO_DEEP)
    try:
        with warnings_ignored():
            return ast.parse(text)
    except SyntaxError as error:
        raise Unparsable(error.lineno or 0, error.msg) from error
    except (RecursionError, MemoryError, ValueError) as error:
        # The error of Python's parser depends on the kind of code that is nested.
        raise Unparsable(0, TOO_DEEP) from error

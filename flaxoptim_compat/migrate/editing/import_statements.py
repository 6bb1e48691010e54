"""The text of imports: new imports among the old ones, and statements that change."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from flaxoptim_compat.line_breaks import in_lines
from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.layout import columns, hanging, width_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.noqa import is_for_linters

Statement = ast.Import | ast.ImportFrom


class Import(NamedTuple):
    """One name that is imported.

    Args:
      module: the text after ``from``; "" for a plain import.
      name: the text after ``import``.
      alias: the text after ``as``; "" without it.
    """

    module: str
    name: str
    alias: str = ""

    @property
    def full_name(self) -> str:
        """The full name of the imported object, with dots only; for ``*`` that of the module."""
        return ".".join(each for each in self[:2] if each not in ("", "*"))

    @property
    def text(self) -> str:
        """The text in the list of names: ``name``, or ``name as alias``."""
        return f"{self.name} as {self.alias}" if self.alias else self.name

    @property
    def bound(self) -> str:
        """The name that the import binds in the file."""
        return self.alias or (self.name if self.module else root_of(self.name))


def imports_of(statement: Statement) -> list[Import]:
    """The imports of a statement, one for each of its names, in their order."""
    module = ""
    if isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
    return [Import(module, each.name, each.asname or "") for each in statement.names]


def root_of(module: str) -> str:
    """The outermost package of a module; "" of a relative one."""
    return module.partition(".")[0]


def edits(
    document: Document,
    changed: Mapping[Statement, Sequence[Import]],
    new: Mapping[Import, Sequence[ast.AST]],
) -> Iterator[Edit]:
    """The edits of all imports.

    A statement that changes is written anew, as a statement for each module. To sort the imports
    is left to other tools.

    Args:
      document: the file.
      changed: the imports of each statement from now on; a statement without imports goes.
      new: the new imports, and the nodes that use them.
    """
    going = {statement for statement, imports in changed.items() if not imports}
    above, below = _placed(document, new)
    for statement, imports in changed.items():
        lines, has_lines = _written(document, statement, imports), document.has_its_lines(statement)
        if not lines and has_lines:
            # New imports beside the statement take its place.
            around = [*above.pop(statement, ()), *below.pop(statement, ())]
            lines = [each for each in around if each]
        if lines:
            between = f"\n{document.before(statement)}" if has_lines else "; "
            yield Edit(*document.span(statement), (between.join(lines),))
        else:
            yield without(document, statement, going)
    for beside, lines in above.items():
        start = document.line_starts[document.first_line(beside) - 1]
        yield Edit(start, start, ("".join(f"{line}\n" for line in lines),))
    for beside, lines in below.items():
        end = document.line_end(document.span(beside)[1])
        yield Edit(end, end, ("".join(f"\n{line}" for line in lines),))


def _written(document: Document, statement: Statement, imports: Sequence[Import]) -> list[str]:
    margin, width = document.before(statement), width_of(document)
    names: dict[str, list[str]] = {}
    for each in imports:
        names.setdefault(each.module, []).append(each.text)
    lines = []
    for module, texts in sorted(names.items()):
        line = _line(module, ", ".join(texts))
        if module and columns(margin) + len(line) > width:
            line = in_lines(
                _line(module, f"({', '.join(texts)})"), hanging(document), width, margin
            )
        lines.append(line)
    return lines


# Packages that are certainly not the program's own.
_KNOWN = {"absl", "flax", "flaxoptim_compat", "jax", "numpy", "optax", "tensorflow"}
_NONE, _FUTURE, _STANDARD, _OTHERS, _RELATIVE = range(5)


def _placed(
    document: Document, new: Mapping[Import, Sequence[ast.AST]]
) -> tuple[dict[ast.stmt, list[str]], dict[ast.stmt, list[str]]]:
    """The lines that come above statements at the top of the file, and those that come below.

    A new import stands behind the last import that sorters put before it, and above its first use:
    among imports of its section and form, if there are any.
    """
    body = document.tree.body
    above: dict[ast.stmt, list[Import]] = {}
    below: dict[ast.stmt, list[Import]] = {}
    for each in sorted(new, key=_key):
        first_use = min(body.index(outermost(document, use)) for use in new[each])
        top = [
            statement
            for statement in body[:first_use]
            if isinstance(statement, Statement) and document.has_its_lines(statement)
        ]
        kin = _kin(each, top)
        smaller = [other for other in kin or top if _key(imports_of(other)[0]) <= _key(each)]
        if smaller:
            below.setdefault(smaller[-1], []).append(each)
        else:
            first = [*kin, *top, _first_statement(body)][0]
            above.setdefault(first, []).append(each)
    return (
        {beside: _lines([*imports, beside]) for beside, imports in above.items()},
        {beside: _lines([beside, *imports]) for beside, imports in below.items()},
    )


def _kin(new: Import, top: Sequence[Statement]) -> Sequence[Statement]:
    """The imports out of ``top`` among which a new one belongs."""
    kin = [each for each in top if _section(each) == _section(new)]
    kin = [each for each in kin if _root(each) in _KNOWN] or kin
    of_form = [each for each in kin if isinstance(each, ast.ImportFrom) == bool(new.module)]
    # Names of flaxoptim_compat were in flax.
    of_root = [each for each in kin if _root(each) == _root(new).removesuffix("optim_compat")]
    forms = [isinstance(each, ast.ImportFrom) for each in kin]
    first, second = (of_form, of_root) if forms == sorted(forms) else (of_root, of_form)
    return [each for each in first if each in second] or first or second or kin


def _lines(statements: Sequence[Import | ast.stmt]) -> list[str]:
    """A line for each new import, and blank lines between sections."""
    lines: list[str] = []
    last = _section(statements[0])
    for each in statements:
        is_definition = isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        lines += [""] * (1 + is_definition) * (_section(each) != last)
        last = _section(each)
        if isinstance(each, Import):
            lines.append(_line(each.module, each.text))
    return lines


def _key(each: Import) -> tuple[int, bool, str, str]:
    return _section(each), bool(each.module), each.module.lower(), each.name.lower()


def _line(module: str, names: str) -> str:
    return f"from {module} import {names}" if module else f"import {names}"


def _root(each: Import | Statement) -> str:
    return root_of((each if isinstance(each, Import) else imports_of(each)[0]).full_name)


def _section(each: Import | ast.stmt) -> int:
    if not isinstance(each, Import | Statement):
        return _NONE
    root = _root(each)
    if root in ("", "__future__"):
        return _FUTURE if root else _RELATIVE
    return _STANDARD if root in sys.stdlib_module_names else _OTHERS


def outermost(document: Document, node: ast.AST) -> ast.stmt:
    """The statement at the top of the file that a node is a part of."""
    while (parent := document.parents[node]) is not document.tree:
        node = parent
    assert isinstance(node, ast.stmt)
    return node


def _first_statement(body: Sequence[ast.stmt]) -> ast.stmt:
    """The first statement after the docstring."""
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[is_text and len(body) > 1]


def without(
    document: Document, statement: ast.stmt, going: Collection[ast.stmt] = frozenset()
) -> Edit:
    """The edit that deletes a statement, with its line if nothing else stands there.

    Args:
      document: the file.
      statement: the statement.
      going: other statements that are deleted.
    """
    start, end = document.span(statement)
    text, block = document.text, document.block(statement)
    is_only = block[-1] is statement and {*block} <= {statement, *going}
    if (is_only and block is not document.tree.body) or not document.has_its_lines(statement):
        # A block needs a statement, and so does what stands before or after a semicolon.
        return Edit(start, end, ("pass",))
    comment = document.behind(statement).strip()
    if comment and not is_for_linters(comment):
        return Edit(start, text.index("#", end), ())  # the comment stays
    start, end = start - len(document.before(statement)), min(document.line_end(end) + 1, len(text))
    # A paragraph that goes leaves the larger of the two gaps around it.
    above = start - len(text[:start].rstrip("\n"))
    below = len(text[end:]) - len(text[end:].lstrip("\n"))
    return Edit(start - max(min(above - 1, below), 0), end, ())


class Gap(NamedTuple):
    """A place for statements behind the imports at the top of a file.

    Args:
      start: the offset of the place, at the start of a line.
      before: the line ends between the imports and the place.
      after: the line end behind the place, if no blank line follows.
      following: the statement that comes next, or the last import if none does.
    """

    start: int
    before: str
    after: str
    following: ast.stmt

    def edits(self, comment: str, line: str) -> tuple[Edit, ...]:
        """The edits that insert a line and its comment; lines of several rules stand together."""
        texts = self.before, f"# {comment}\n", f"{line}\n{self.after}"
        return tuple(Edit(self.start, self.start, (text,)) for text in texts)


def gap_after_imports(document: Document) -> Gap | None:
    """The place behind the imports at the top of a file; None if there are none.

    Args:
      document: the file.
    """
    body, text = document.tree.body, document.text
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If)
    head = itertools.takewhile(lambda each: not isinstance(each, definitions), body)
    imports = [index for index, each in enumerate(head) if isinstance(each, Statement)]
    if not imports:
        return None
    start = document.line_end(document.span(body[imports[-1]])[1]) + 1
    following = body[imports[-1] : imports[-1] + 2][-1]
    before = "\n" if start <= len(text) else "\n\n"
    after = "" if text[start : start + 1] in ("", "\n") else "\n"
    return Gap(min(start, len(text)), before, after, following)

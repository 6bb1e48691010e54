"""Where the imports that a file gets are written."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.imports.aliases import Aliases
from flaxoptim_compat.migrate.imports.conventions import Import

Statement = ast.Import | ast.ImportFrom


class Placed(NamedTuple):
    """New imports at one place.

    Args:
      imports: the imports, in their order.
      after: the statement that they follow or, if that goes, whose place they take.
      before: the statement that they stand before, if there is none to follow; None for a file
        without any.
    """

    imports: tuple[Import, ...]
    after: ast.stmt | None
    before: ast.stmt | None


def placed(
    document: Document,
    aliases: Aliases,
    wanted: Mapping[Import, Sequence[ast.AST]],
    changed: Mapping[Statement, object],
) -> list[Placed]:
    """The place of each new import.

    That is where an import goes that was for the same uses, else the end of the imports at the
    top of the file, but in any case before the first use.

    Args:
      document: the file.
      aliases: its imports.
      wanted: the new imports, and where they are used.
      changed: the statements of imports that change.
    """
    places: dict[ast.stmt | None, list[Import]] = {}
    for each, uses in wanted.items():
        places.setdefault(_statement_for(document, aliases, uses, changed), []).append(each)
    first = _first_statement(document.tree)
    return [
        Placed(tuple(sorted(imports, key=lambda each: each.sort_key)), after, first)
        for after, imports in places.items()
    ]


def _statement_for(
    document: Document,
    aliases: Aliases,
    uses: Sequence[ast.AST],
    changed: Mapping[Statement, object],
) -> ast.stmt | None:
    """The statement after which an import is needed; None if before all others."""
    scopes = {aliases.scope_at(each) for each in uses}
    first_line = min(document.statement(each).lineno for each in uses)
    for statement in changed:
        # What several functions use is imported at the top.
        local = aliases.scope_at(statement)
        is_whole = scopes == {local} and document.parents[statement] is local.node
        if is_whole and local.parent is not None and statement.lineno < first_line:
            return statement
    body = document.tree.body
    first_use = min(_top_level(document, each) for each in uses)
    top = [each for each in body[:first_use] if isinstance(each, Statement)]
    return next((each for each in top if each in changed), top[-1] if top else None)


def _top_level(document: Document, node: ast.AST) -> int:
    """The index of the statement at the top of the file that a node is a part of."""
    while document.parents[node] is not document.tree:
        node = document.parents[node]
    return document.tree.body.index(node)  # type: ignore[arg-type]


def _first_statement(tree: ast.Module) -> ast.stmt | None:
    """The first statement after the docstring."""
    for each in tree.body:
        if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
            return each
    return None

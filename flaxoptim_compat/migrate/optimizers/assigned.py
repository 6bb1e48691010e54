"""The expression that a variable is assigned, where there is only one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.points_to import PointsTo


def assigned_once(
    points_to: PointsTo, document: Document, place: ast.AST, node: ast.expr
) -> ast.expr:
    """The expression that a variable is assigned, if one statement of its scope assigns it.

    Where a value is unpacked into several names, it is an entry of the value.

    Args:
      points_to: what is known of the program.
      document: the file.
      place: where it is asked for.
      node: the variable; any other expression is returned as it is.
    """
    if not isinstance(node, ast.Name):
        return node
    scopes = points_to.scopes[document]
    scope = scopes.binder(place, node.id)
    # A parameter, an import and a pattern bind it as well.
    if scope is None or len(scopes.of[scope].bindings[node.id]) != 1:
        return node
    match list(assignments(points_to, document, place, node.id)):
        case [statement]:
            return _assigned_by(statement, node.id) or node
    return node


def _assigned_by(statement: ast.stmt, name: str) -> ast.expr | None:
    """The expression that a statement assigns to a name; None if it is no plain assignment."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=bound), *_], value=value) if bound == name:
            return value
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            names = [each.id if isinstance(each, ast.Name) else "" for each in targets]
            if name in names and not any(isinstance(each, ast.Starred) for each in targets):
                entry = ast.Subscript(value, ast.Constant(names.index(name)), ast.Load())
                return ast.copy_location(entry, value)
    return None


def assignments(
    points_to: PointsTo, document: Document, place: ast.AST, name: str
) -> Iterator[ast.stmt]:
    """The statements that bind a name in the scope in which it is seen at a place."""
    scopes = points_to.scopes[document]
    scope = scopes.binder(place, name)
    if scope is None:
        return
    for node in ast.walk(scope):
        stored = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        if stored and scopes.binder(node, name) is scope:
            yield document.statement(node)

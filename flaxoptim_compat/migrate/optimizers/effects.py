"""What running a piece of a program changes, besides that it has a value."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.points_to import PointsTo


def changes_others(
    points_to: PointsTo, document: Document, nodes: Iterable[ast.AST], within: ast.AST | None = None
) -> bool:
    """Whether something is run that other parts of the program, or who reads it, may see.

    Args:
      points_to: what is known of the program.
      document: the file.
      nodes: what is run, with the functions that are called there.
      within: the function that it is the body of; what this has of its own, nobody else sees.
    """
    for node in nodes:
        for each in ast.walk(node):
            match each:
                case ast.Global() | ast.Nonlocal():
                    return True
                case ast.Call() if _changes(points_to, document, each, within):
                    return True
    return False


def calls_what_changes_others(points_to: PointsTo, function: ast.expr) -> bool:
    """Whether a function is one of the program that does so when it is called."""
    return any(
        changes_others(points_to, each.document, [each.node], each.node)
        for each in points_to.functions(function)
    )


def _changes(
    points_to: PointsTo, document: Document, call: ast.Call, within: ast.AST | None
) -> bool:
    names = points_to.package_names(call.func)
    if any(each == "print" or each.startswith(_OF_ONE_STATE) for each in names):
        return True
    match call.func:
        # As of a list, or of a generator of random numbers, that is outside.
        case ast.Attribute(value=ast.Name(id=name) as owner) if within is not None and not names:
            return points_to.scopes[document].binder(owner, name) is not within
    return within is None and calls_what_changes_others(points_to, call.func)


_OF_ONE_STATE = ("numpy.random.", "random.")

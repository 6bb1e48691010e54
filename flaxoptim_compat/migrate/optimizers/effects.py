"""What running a piece of a program changes, besides that it has a value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from flaxoptim_compat.migrate.names.walk import parameter_names_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import containers
from flaxoptim_compat.migrate.values.objects import Function, Instance
from flaxoptim_compat.migrate.values.points_to import PointsTo

# So many functions may call each other on the way to what is changed.
_MOST_CALLS = 3


def changes_others(
    points_to: PointsTo,
    document: Document,
    nodes: Iterable[ast.AST],
    within: ast.AST | None = None,
    calls: int = _MOST_CALLS,
) -> bool:
    """Whether something is run that other parts of the program, or who reads it, may see.

    Args:
      points_to: what is known of the program.
      document: the file.
      nodes: what is run, with the functions that are called there.
      within: the function that it is the body of; what this has of its own, nobody else sees.
      calls: how many functions that call each other are followed.
    """
    for node in nodes:
        for each in ast.walk(node):
            match each:
                case ast.Global() | ast.Nonlocal() | ast.Attribute(ctx=ast.Store()):
                    return True
                case ast.Subscript(value=owner, ctx=ast.Store()):
                    if not _is_own(points_to, document, owner, within):
                        return True
                case ast.Call() if _changes(points_to, document, each, within, calls):
                    return True
    return False


def calls_what_changes_others(
    points_to: PointsTo, function: ast.expr, calls: int = _MOST_CALLS
) -> bool:
    """Whether a function does so when it is called.

    Args:
      points_to: what is known of the program.
      function: what is called.
      calls: how many functions that call each other are followed.
    """
    names = points_to.package_names(function)
    if any(each in _ACT or each.startswith(_OF_ONE_STATE) for each in names):
        return True
    functions = [*points_to.functions(function), *_of_objects(points_to, function)] if calls else []
    if not (names or functions) and isinstance(function, ast.Attribute):
        return function.attr in containers.PUT  # as `tree_map(seen.append, ...)`
    return any(
        changes_others(points_to, each.document, [each.node], each.node, calls - 1)
        for each in functions
    )


def _of_objects(points_to: PointsTo, called: ast.expr) -> Iterator[Function]:
    """The methods by which objects are called."""
    for each in points_to.called_by(called):
        if isinstance(each, Instance):
            for of, _ in points_to.ancestry(each.of):
                for method in of.node.body:
                    if isinstance(method, ast.FunctionDef) and method.name == "__call__":
                        yield Function(of.document, method)


def _changes(
    points_to: PointsTo, document: Document, call: ast.Call, within: ast.AST | None, calls: int
) -> bool:
    match call.func:
        case ast.Attribute(value=owner, attr=method) if not points_to.values(call.func):
            if method in _DRAWS or (within is None and method in containers.CHANGE):
                return True
            if within is None or _is_own(points_to, document, owner, within):
                return False
            # As of a list, or of a generator of random numbers, that is outside.
            is_outside = isinstance(owner, ast.Name) and owner.id not in parameter_names_of(within)
            return is_outside or method in containers.PUT
    return calls_what_changes_others(points_to, call.func, calls)


def _is_own(
    points_to: PointsTo, document: Document, node: ast.expr, within: ast.AST | None
) -> bool:
    """Whether something is in a variable that a function makes itself."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if within is None or not isinstance(node, ast.Name):
        return within is not None
    is_bound = points_to.scopes[document].binder(node, node.id) is within
    return is_bound and node.id not in parameter_names_of(within)


# The methods of numpy's generators: each draw changes what the next one gives.
_DRAWS = frozenset(
    [
        "choice",
        "integers",
        "normal",
        "permutation",
        "rand",
        "randint",
        "randn",
        "random",
        "shuffle",
        "standard_normal",
        "uniform",
    ]
)
_ACT = frozenset({"next", "print"})
_OF_ONE_STATE = ("numpy.random.", "random.")

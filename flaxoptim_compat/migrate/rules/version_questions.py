"""Code that tests the version it runs on, and has a branch of its own for today's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.program.document import Document

_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError"})
_PLAIN = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr, ast.Return)
_MOST = 3
IsGone = Callable[[ast.AST], bool]


def is_for_another_version(document: Document, node: ast.AST, is_gone: IsGone) -> bool:
    """True if a lost name stands where the program is ready for its absence.

    That is in a ``try``, in an import instead of one that was tried, or in a branch of ``hasattr``,
    if what runs instead uses no lost name.

    Args:
      document: the file.
      node: the name, or the alias in an import.
      is_gone: whether a piece of code uses a lost name.
    """
    inner: ast.AST = node
    while (outer := document.parents.get(inner)) is not None:
        others = _instead(outer, inner)
        if others and not any(map(is_gone, others)):
            return True
        inner = outer
    return False


def _instead(outer: ast.AST, inner: ast.AST) -> Sequence[ast.AST]:
    """The code that runs instead of a part of a statement or expression on another version."""
    match outer:
        case ast.Try() if inner in outer.body:
            return [each for handler in _handlers(outer) for each in handler.body]
        case ast.Try(body=tried) if isinstance(inner, ast.ExceptHandler):
            imported = _imported(inner.body) if inner in _handlers(outer) else set()
            return tried if imported and imported <= _imported(tried) else []
        case ast.If(test=test) if _asks(test):
            return outer.orelse if inner in outer.body else outer.body if inner is not test else []
        case ast.IfExp(test=test, body=body, orelse=orelse) if _asks(test) and inner is not test:
            return [orelse if inner is body else body]
    return []


def _imported(statements: Sequence[ast.stmt]) -> set[str]:
    """The names under which statements import something."""
    imports = [each for each in statements if isinstance(each, ast.Import | ast.ImportFrom)]
    return {each.asname or each.name for statement in imports for each in statement.names}


def _handlers(statement: ast.Try) -> Iterator[ast.ExceptHandler]:
    """The handlers of a short ``try`` that do something else instead of what fails."""
    if len(statement.body) > _MOST or not all(isinstance(each, _PLAIN) for each in statement.body):
        return  # a long body is about more than a version
    for each in statement.handlers:
        caught = [] if each.type is None else [*ast.walk(each.type)]
        names = {last_name(node) for node in caught if isinstance(node, ast.expr)}
        if names & _MISSING and not isinstance(each.body[0], ast.Raise | ast.Pass):
            yield each


def _asks(test: ast.expr) -> bool:
    """True if a condition is ``hasattr(...)`` or ``not hasattr(...)``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return isinstance(test, ast.Call) and last_name(test.func) == "hasattr"

"""Which scope binds a name that is used at a node."""

from __future__ import annotations

import ast
import sys
from typing import cast

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.names.walk import walk_of

Scope = (
    ast.Module
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Lambda
    | ast.ClassDef
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


class Scopes:
    """The scopes of one file."""

    def __init__(self, document: Document) -> None:
        self._tree = document.tree
        self._parents = document.parents
        self.walk = walk_of(document)
        self._scopes = self.walk.scopes

    def binder(self, node: ast.AST, name: str) -> Scope | None:
        """The scope that binds a name which is used at a node; None if it is a builtin."""
        place = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        # What binds a name counts as after itself, and after the value that it is given.
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            place = (sys.maxsize, 0)
        found = self._scopes[self.around(node)].binder(name, place)
        return None if found is None else cast(Scope, found.node)

    def around(self, node: ast.AST) -> Scope:
        """The scope that a node stands in; that of a function is the one it is defined in."""
        child, parent = node, self._parents[node]
        while parent not in self._scopes or not _is_inside(child, parent):
            child, parent = parent, self._parents[parent]
        return cast(Scope, parent)

    def names_of_module(self) -> list[str]:
        """The names that ``from this import *`` gives, where there is no ``__all__``."""
        bound = self._scopes[self._tree].bindings
        return sorted(each for each in bound if not each.startswith(("_", "*")))


def _is_inside(child: ast.AST, scope: ast.AST) -> bool:
    """Whether a child of a scope's node is evaluated inside of the scope."""
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in scope.body
    return not (isinstance(scope, ast.Lambda) and child is scope.args)

"""Which scope of a file binds a name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from typing import cast

from flaxoptim_compat.migrate.names import surface
from flaxoptim_compat.migrate.names.walk import walk_of
from flaxoptim_compat.migrate.program.document import Document

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
    """The scopes of one file.

    Args:
      document: the file.
    """

    def __init__(self, document: Document) -> None:
        self._parents = document.parents
        self.walk = walk_of(document)
        self.of = self.walk.scopes
        # Variables that functions inside of their scope, or expressions, may assign to at any time.
        self.shared = {
            (home.node, name)
            for scope in self.of.values()
            for name in scope.elsewhere
            if (home := scope.home(name)) is not None
        }
        for walrus in document.of_kind(ast.NamedExpr):
            self.shared.add((document.variables_of(walrus), walrus.target.id))

    def binder(self, node: ast.AST, name: str) -> Scope | None:
        """The scope that binds a name which is used at a node; None if it is a builtin."""
        position = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        # What binds a name counts as after itself, and after the value that it is given.
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            position = (sys.maxsize, 0)
        found = self.of[self.around(node)].binder(name, position)
        return None if found is None else cast(Scope, found.node)

    def around(self, node: ast.AST) -> Scope:
        """The scope that a node stands in; that of a function is the one it is defined in."""
        child, parent = node, self._parents[node]
        while parent not in self.of or not _is_inside(child, parent):
            child, parent = parent, self._parents[parent]
        return cast(Scope, parent)


def _is_inside(child: ast.AST, scope: ast.AST) -> bool:
    """True if a child of a scope's node is evaluated inside of the scope."""
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in scope.body
    return not (isinstance(scope, ast.Lambda) and child is scope.args)


class Stars:
    """The names that ``import *`` brings, from files of the program and from flax.optim.

    Args:
      modules: for each file, the files that it imports, by the names it imports them by.
    """

    def __init__(self, modules: Mapping[Document, Mapping[str, Document]]) -> None:
        self._modules = modules
        self._brought: dict[Document, dict[str, Document | str]] = {}

    def brought(self, document: Document) -> Mapping[str, Document | str]:
        """For each name that a file gets: the file that has it, or what it is in flax.optim."""
        if document not in self._brought:
            found = self._brought[document] = {}  # so that circles end
            for node, scope in walk_of(document).imports:
                if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                    origin = "." * node.level + (node.module or "")
                    module = self._modules[document].get(origin)
                    if module is not None and scope.parent is None:
                        found |= self.brought(module)
                        found |= dict.fromkeys(_given(module), module)
                    of_old = surface.in_star(surface.as_of_old(origin))
                    if module is None and not of_old:
                        # Another package may have names of flax.optim, too.
                        for name in [each for each, of in found.items() if isinstance(of, str)]:
                            del found[name]
                    found |= of_old
        return self._brought[document]


def _given(document: Document) -> list[str]:
    """The names that a file gives, where there is no ``__all__``."""
    bound = walk_of(document).scopes[document.tree].bindings
    return [each for each in bound if not each.startswith(("_", "*"))]

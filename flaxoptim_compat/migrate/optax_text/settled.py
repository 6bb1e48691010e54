"""Which names of a program have one value for good, so that it does not matter when it is read."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.names.walk import walk_of

_REPEATED = (
    *(ast.For, ast.AsyncFor, ast.While),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


class Settled:
    """Answers that for the names of one file.

    Args:
      document: the file.
    """

    def __init__(self, document: Document) -> None:
        self._document = document

    def __call__(self, node: ast.expr) -> bool:
        """Whether an expression is a name that is bound once before it is used, and never again."""
        scope = walk_of(self._document).names.get(node) if isinstance(node, ast.Name) else None
        if scope is None:
            return False
        assert isinstance(node, ast.Name)
        home = scope.binder(node.id, (node.lineno, node.col_offset))
        # A lambda does not see the names of a class, and a comprehension binds its own anew.
        if home is None or home.is_class or home.is_comprehension:
            return False
        if len(home.bindings[node.id]) != 1:
            return False
        return node.id in _parameters(home) or self._is_assigned_once(node.id, home)

    def _is_assigned_once(self, name: str, home: Scope) -> bool:
        """Whether the only binding of a name is an assignment that is run once, if at all."""
        (binding,) = home.bindings[name]
        # The cell of a notebook can be run again.
        if binding.kind not in ("value", "other") or (home.parent is None and self._in_notebook):
            return False
        line, _ = binding.after
        for node in ast.walk(home.node):
            if isinstance(node, ast.ExceptHandler) and node.name == name:
                return False  # it is deleted at the end of the handler
            if isinstance(node, _REPEATED) and node.lineno <= line <= (node.end_lineno or line):
                return False
        return True

    @property
    def _in_notebook(self) -> bool:
        return self._document.path.suffix == ".ipynb"


def _parameters(scope: Scope) -> set[str]:
    if not isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return set()
    given = scope.node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {each.arg for each in every if each is not None}

"""Variables before and after a statement such as ``x = x.create(params)`` or ``x = x.replicate()``.

Elsewhere the order of statements counts for nothing. Here it does: a definition is no optimizer,
and a copy on all devices averages its gradients, which the optimizer before does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.names.walk import parameters
from flaxoptim_compat.migrate.program.document import Document

# A definition becomes an optimizer, and that another one.
_REPLACING = frozenset({"create", "replicate", "unreplicate"})
# In the body of these a statement is done once, after what stands above it.
_IN_ORDER = (ast.With, ast.AsyncWith, ast.If)

_Key = tuple[Scope, str]


class Versions:
    """Which version of a variable a pass over a file is at.

    A variable has versions if such a statement stands in a function or at the top of a file, in no
    loop and no ``try``, and no function inside assigns to the variable. Who reads it from such a
    function, or from another file, reads all of them: the variable by its own name, or what
    ``all_versions`` says for a parameter.

    Args:
      document: the file.
      scopes: its scopes.
    """

    def __init__(self, document: Document, scopes: Mapping[ast.AST, Scope]) -> None:
        self._splits: dict[ast.Assign, _Key] = {}
        self._now: dict[_Key, str] = {}
        for node in document.of_kind(ast.Assign):
            name = _replaced(node)
            if name:
                scope = scopes.get(_around(document, node))
                shared = (name in each.elsewhere for each in scopes.values())
                if scope is not None and not any(shared):
                    self._splits[node] = scope, name
        self._split = frozenset(self._splits.values())
        self._names = frozenset(name for _, name in self._split)

    def has(self, name: str) -> bool:
        """Whether a variable of this name has versions."""
        return name in self._names

    def enter(self, scope: Scope) -> list[str]:
        """Begin with the body of a function, or with the file.

        Returns:
          The parameters that have versions.
        """
        given = []
        for key in self._split:
            if key[0] is scope:
                is_given = key[1] in _given(scope.node)
                # Calls give to a parameter by its own name.
                self._now[key] = key[1] if is_given else f"{key[1]} before"
                given += [key[1]] * is_given
        return given

    def now(self, scope: Scope, reader: Scope, name: str) -> str:
        """The name of the version that a statement sees.

        Args:
          scope: whose variable it is.
          reader: where the statement stands.
          name: the variable.
        """
        key = scope, name
        if key not in self._split:
            return name
        while reader is not scope and isinstance(reader.node, _AT_ONCE) and reader.parent:
            reader = reader.parent
        return self._now[key] if reader is scope and key in self._now else _whole(key)

    def bound(self, scope: Scope, reader: Scope, name: str) -> Iterable[str]:
        """The names of what a statement assigns to, when it assigns to a variable."""
        if (scope, name) not in self._split:
            return (name,)
        return dict.fromkeys([self.now(scope, reader, name), _whole((scope, name))])

    def replace(self, node: ast.Assign) -> None:
        """Go on with another version, if a statement makes one."""
        key = self._splits.get(node)
        if key is not None:
            self._now[key] = f"{key[1]} from {node.lineno}"

    def state(self) -> dict[tuple[Scope, str], str]:
        """All versions as they are now."""
        return dict(self._now)

    def join(self, one: Mapping[tuple[Scope, str], str]) -> None:
        """Go on where two branches meet: with every version of what they leave different.

        Args:
          one: the versions at the end of the one; those at the end of the other are at hand.
        """
        for key, name in one.items():
            if self._now.get(key) != name:
                self._now[key] = _whole(key)

    def go_back(self, state: Mapping[tuple[Scope, str], str]) -> None:
        """Go on with the versions of an earlier place."""
        self._now = dict(state)


def all_versions(name: str) -> str:
    """The name of all versions of a parameter, whose own name is that of what calls give."""
    return f"{name} of all"


def _whole(key: _Key) -> str:
    scope, name = key
    return all_versions(name) if name in _given(scope.node) else name


def _given(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    return {each.arg for each in parameters(node.args)}


# Comprehensions whose expressions are evaluated where they stand.
_AT_ONCE = (ast.ListComp, ast.SetComp, ast.DictComp)


def _replaced(node: ast.AST) -> str:
    """The name in ``x = ....create(params)`` and its like; "" if it is another statement."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr=method))
        ) if method in _REPLACING:
            return name
    return ""


def _around(document: Document, node: ast.AST) -> ast.AST:
    """The function or file that does a statement in its order; else something that is no scope."""
    parent = document.parents[node]
    while isinstance(parent, _IN_ORDER):
        parent = document.parents[parent]
    in_order = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
    return parent if isinstance(parent, in_order) else node

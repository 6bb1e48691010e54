"""Where names and strings stand in the expressions of a file, and in which scope."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from flaxoptim_compat.migrate.names.dotted import (
    Chain,
    chain_of,
    is_lookup,
    last_name,
    name_of_function,
    type_arguments,
)
from flaxoptim_compat.migrate.names.scopes import Binding, Kind, Scope


class Expressions:
    """What is found in expressions, and what every visit needs.

    Args:
      tree: the file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.scopes: dict[ast.AST, Scope] = {tree: Scope(tree)}
        self.names: dict[ast.Name, Scope] = {}
        self.chains: list[Chain] = []
        self.lookups: list[ast.Call] = []
        self.strings: list[ast.Constant] = []
        self.annotations: list[tuple[ast.Constant, Scope, ast.expr | None]] = []
        self._bound: list[tuple[Scope, str, Binding]] = []
        self._scope = self.scopes[tree]
        self._in_annotation = False
        self._type_taker: ast.expr | None = None
        self._methods: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Constant: self._constant,
            ast.NamedExpr: self._walrus,
            ast.Subscript: self._subscript,
        }

    def _visit(self, node: ast.AST) -> None:
        method = self._methods.get(type(node))
        if method is None:
            self._inside(node)
        else:
            method(node)

    def _inside(self, node: ast.AST) -> None:
        for field in node._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                self._all(value)
            elif isinstance(value, ast.AST):
                self._visit(value)

    def _all(self, nodes: Iterable[Any]) -> None:
        for each in nodes:
            if isinstance(each, ast.AST):
                self._visit(each)

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id, node, "other")
            return
        self.names[node] = self._scope
        if isinstance(node.ctx, ast.Load):
            self.chains.append(Chain(node, node, (), self._scope))
        else:
            self._bind(node.id, node, "nothing")

    def _attribute(self, node: ast.Attribute) -> None:
        if not self._chain(node):
            self._visit(node.value)

    def _call(self, node: ast.Call) -> None:
        if is_lookup(node):
            self.lookups.append(node)
        if not self._chain(node):
            self._visit(node.func)
            types = type_arguments(node)
            self._all(each for each in node.args if each not in types)
            self._all(each for each in node.keywords if each.value not in types)
            for each in types:
                self._annotation(each, node.func)

    def _chain(self, node: ast.Attribute | ast.Call) -> bool:
        """Note a chain, with the names in it, unless it is none."""
        found = chain_of(node)
        if found is None:
            return False
        root, path = found
        self.chains.append(Chain(node, root, path, self._scope))
        inside: ast.expr = node
        while inside is not root:
            if isinstance(inside, ast.Call):
                self.names[name_of_function(inside)] = self._scope
                self._all(inside.args[2:])
                inside = inside.args[0]
            elif isinstance(inside, ast.Attribute):
                inside = inside.value
        if isinstance(root, ast.Name):
            self.names[root] = self._scope
        elif isinstance(root, ast.Call):
            self._visit(root.func)
            self._all(each for each in root.args if not isinstance(each, ast.Constant))
            self._all(root.keywords)
        return True

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            if self._in_annotation:
                self.annotations.append((node, self._scope, self._type_taker))
            elif "optim" in node.value:
                self.strings.append(node)

    def _subscript(self, node: ast.Subscript) -> None:
        before = self._in_annotation
        self._visit(node.value)
        self._in_annotation = before and last_name(node.value) != "Literal"
        self._visit(node.slice)
        self._in_annotation = before

    def _annotation(self, node: ast.expr | None, taker: ast.expr | None = None) -> None:
        """Visit an annotation, or what a function that may be one of ``typing`` takes as one."""
        if node is not None:
            before = self._in_annotation, self._type_taker
            self._in_annotation, self._type_taker = True, taker
            self._visit(node)
            self._in_annotation, self._type_taker = before

    def _walrus(self, node: ast.NamedExpr) -> None:
        self._visit(node.value)
        inside = self._scope
        while self._scope.is_comprehension and self._scope.parent is not None:
            self._scope = self._scope.parent
        self._visit(node.target)
        self._scope = inside

    def _bind(self, name: str, node: ast.AST, kind: Kind, **more: Any) -> None:
        after = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        self._bound.append((self._scope, name, Binding(kind, after, **more)))

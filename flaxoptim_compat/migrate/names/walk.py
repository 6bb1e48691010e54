"""One walk over a file: its scopes, and where names and strings stand in them."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator
from typing import Any

from flaxoptim_compat.migrate.names.dotted import (
    DottedName,
    constant_getattr,
    imported_module,
    is_lookup,
    last_name,
    taken_apart,
)
from flaxoptim_compat.migrate.names.scopes import Binding, BindingKind, Scope
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import package_of

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = frozenset([*_FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS])


class Walk:
    """The scopes, imports, names and strings of a file.

    Args:
      document: the file.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._parents = document.parents
        self.scopes: dict[ast.AST, Scope] = {document.tree: Scope(document.tree)}
        for node in document.nodes:
            if type(node) in _SCOPES:
                self.scopes[node] = Scope(node, self.around(node))
        # Names that are bound somewhere to an import or a dotted name; other names need no look-up.
        self.meaningful: set[str] = set()
        self._bound: list[tuple[Scope, str, Binding]] = []
        self.imports = [
            (node, self.around(node))
            for node in sorted(document.imports, key=lambda each: (each.lineno, each.col_offset))
        ]
        # The full name of the object of each import; for `import *`, that of the module.
        self.imported: dict[ast.alias, str] = {}
        for node, scope in self.imports:
            self._import(node, scope)
        self._bind_definitions()
        self.names: dict[ast.Name, Scope] = {}
        self.dotted_names: list[DottedName] = []
        self._read_names()
        self.lookups = [each for each in document.of_kind(ast.Call) if is_lookup(each)]
        self.strings: list[ast.Constant] = []
        self.annotations: list[tuple[ast.Constant, Scope]] = []
        self._read_strings()
        self._bound.sort(key=lambda each: each[2].after)
        # Bound only now: the target of `nonlocal` depends on the bindings of the functions around.
        for scope, name, binding in self._bound:
            if name not in scope.elsewhere:
                scope.bindings.setdefault(name, []).append(binding)
        for scope, name, binding in self._bound:
            home = scope.home(name) if name in scope.elsewhere else None
            if home is not None:
                home.bindings.setdefault(name, []).append(binding)

    def around(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated, or in which a statement stands."""
        child, parent = node, self._parents[node]
        while parent not in self.scopes or not _is_inside(child, parent):
            if isinstance(parent, ast.comprehension) and child is parent.iter:
                whole = self._parents[parent]
                if parent is getattr(whole, "generators", [None])[0]:
                    parent = whole  # what the first loop is over is evaluated outside
            child, parent = parent, self._parents[parent]
        return self.scopes[parent]

    def _bind(self, scope: Scope, name: str, node: ast.AST, kind: BindingKind, **more: Any) -> None:
        after = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        self._bound.append((scope, name, Binding(kind, after, **more)))
        if more:
            self.meaningful.add(name)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        package = package_of(self._document.module, self._document.is_package)
        module = imported_module(node, package) if isinstance(node, ast.ImportFrom) else ""
        for each in node.names:
            bound = each.asname or each.name
            if module is None:
                self._bind(scope, bound, node, "other")
            elif each.name == "*":
                self.imported[each] = module
                self._bind(scope, "*", node, "star", full_name=module, alias=each)
            elif module:
                name = self.imported[each] = f"{module}.{each.name}"
                self._bind(scope, bound, node, "import", full_name=name, alias=each)
            else:
                self.imported[each] = each.name
                root = each.name.partition(".")[0]
                name = root if each.asname is None else each.name
                bound = each.asname or root
                self._bind(scope, bound, node, "import", full_name=name, alias=each)

    def _bind_definitions(self) -> None:
        """Bind the names that stand in the tree as texts, and note what stands elsewhere."""
        document = self._document
        for node, scope in self.scopes.items():
            for each in parameters(node.args) if isinstance(node, _FUNCTIONS) else ():
                self._bind(scope, each.arg, each, "other")
            if isinstance(node, _NAMED) and scope.parent is not None:
                self._bind(scope.parent, node.name, node, "other")
        for kind in (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping):
            for bound in document.of_kind(kind):
                name = getattr(bound, "rest" if kind is ast.MatchMapping else "name")
                if name is not None:
                    self._bind(self.around(bound), name, bound, "other")
        for statement in document.of_kind(ast.Global):
            self.around(statement).elsewhere.update(dict.fromkeys(statement.names, True))
        for other in document.of_kind(ast.Nonlocal):
            self.around(other).elsewhere.update(dict.fromkeys(other.names, False))

    def _read_names(self) -> None:
        document = self._document
        values = dict(self._assigned())
        for kind in (ast.Attribute, ast.Call, ast.Name):
            for node in document.of_kind(kind):
                parts = None if self._is_part_of_dotted(node) else taken_apart(node)
                if parts is not None and not (node is parts[0] and _is_changed(parts[0])):
                    self.dotted_names.append(DottedName(node, *parts, self.around(node)))
        for name in document.of_kind(ast.Name):
            scope, parent = self.around(name), self._parents[name]
            if not isinstance(name.ctx, ast.Store) or isinstance(parent, ast.AugAssign):
                self.names[name] = scope
            while isinstance(parent, ast.NamedExpr) and scope.is_comprehension and scope.parent:
                scope = scope.parent
            if name in values:
                self._bind_value(scope, name.id, values[name])
            elif _is_changed(name):
                kind_of_binding: BindingKind = "other"
                if isinstance(name.ctx, ast.Del) or isinstance(parent, ast.AnnAssign):
                    kind_of_binding = "nothing"
                self._bind(scope, name.id, name, kind_of_binding)

    def _is_part_of_dotted(self, node: ast.expr) -> bool:
        """True if a dotted name stands in a longer one, or is the function of a ``getattr``."""
        match self._parents[node]:
            case ast.Attribute():
                return True
            case ast.Call(func=function, args=[owner, *_]) as call if constant_getattr(call):
                return node in (function, owner)
        return False

    def _assigned(self) -> Iterator[tuple[ast.Name, ast.expr]]:
        """The variables that are assigned to, each with the value that it alone gets."""
        for node in self._document.of_kind(ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        for each in self._document.of_kind(ast.AnnAssign):
            if each.value is not None:
                yield from _pairs(each.target, each.value)

    def _bind_value(self, scope: Scope, name: str, value: ast.expr) -> None:
        if isinstance(value, ast.Constant) and value.value is None:
            self._bind(scope, name, value, "nothing")
        elif taken_apart(value) is not None:
            self._bind(scope, name, value, "value", value=value)
        else:
            self._bind(scope, name, value, "other")

    def _read_strings(self) -> None:
        for node in self._document.of_kind(ast.Constant):
            if isinstance(node.value, str) and not isinstance(self._parents[node], ast.Expr):
                if self._is_in_annotation(node):
                    self.annotations.append((node, self.around(node)))
                elif "optim" in node.value:
                    self.strings.append(node)

    def _is_in_annotation(self, node: ast.expr) -> bool:
        inner: ast.AST = node
        while isinstance(parent := self._parents[inner], ast.expr | ast.keyword):
            if isinstance(parent, ast.Subscript) and last_name(parent.value) == "Literal":
                return False
            inner = parent
        return inner in (getattr(parent, "annotation", None), getattr(parent, "returns", None))


def _is_inside(child: ast.AST, scope: ast.AST) -> bool:
    """True if a part of a scope's node is evaluated inside of the scope."""
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in scope.body
    return not (isinstance(scope, ast.Lambda) and child is scope.args)


def _is_changed(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The names in a target, each with its value, where the value has as many entries."""
    match target, value:
        case ast.Name(), _:
            yield target, value
        case (
            ast.Tuple(elts=targets) | ast.List(elts=targets),
            ast.Tuple(elts=values) | ast.List(elts=values),
        ) if len(targets) == len(values):
            if not any(isinstance(each, ast.Starred) for each in (*targets, *values)):
                for pair in zip(targets, values, strict=True):
                    yield from _pairs(*pair)


_WALKS: weakref.WeakKeyDictionary[Document, Walk] = weakref.WeakKeyDictionary()


def walk_of(document: Document) -> Walk:
    """The walk over a file, which is done only once."""
    walk = _WALKS.get(document)
    if walk is None:
        walk = _WALKS[document] = Walk(document)
    return walk


def parameter_names_of(node: ast.AST) -> set[str]:
    """The names of the parameters of a function; none for anything else."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return set()
    return {each.arg for each in parameters(node.args)}


def parameters(node: ast.arguments) -> list[ast.arg]:
    """All parameters of a function, those with a star included."""
    alone = [each for each in (node.vararg, node.kwarg) if each is not None]
    return [*node.posonlyargs, *node.args, *node.kwonlyargs, *alone]


def defaults(node: ast.arguments) -> list[tuple[ast.arg, ast.expr]]:
    """The parameters of a function that have a default, each with that."""
    positional = [*node.posonlyargs, *node.args]
    last = positional[len(positional) - len(node.defaults) :]
    named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
    return [
        *zip(last, node.defaults, strict=True),
        *((each, default) for each, default in named if default is not None),
    ]

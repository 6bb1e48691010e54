"""One walk over a file: its scopes, and where names and strings stand in them."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flaxoptim_compat.migrate.names.dotted import (
    CALLS_OF_NAMES,
    DottedName,
    imported_module,
    last_name,
    looked_up_by,
    name_of_function,
    prefixes_of,
    taken_apart,
)
from flaxoptim_compat.migrate.names.scopes import Binding, BindingKind, Scope
from flaxoptim_compat.migrate.program.document import FIELDS, Document
from flaxoptim_compat.migrate.program.imported_files import package_of


class Walk:
    """The scopes, imports, names and strings that one walk over a tree finds.

    Args:
      tree: the file.
      package: the package that relative imports start from; "" if it is not known.
    """

    def __init__(self, tree: ast.Module, package: str) -> None:
        self.imports: list[tuple[ast.Import | ast.ImportFrom, Scope]] = []
        # The full name of the object of each import; for `import *`, that of the module.
        self.imported: dict[ast.alias, str] = {}
        self.scopes: dict[ast.AST, Scope] = {tree: Scope(tree)}
        self.names: dict[ast.Name, Scope] = {}
        # Names that are bound somewhere to an import or a dotted name; other names need no look-up.
        self.meaningful: set[str] = set()
        self.dotted_names: list[DottedName] = []
        self.lookups: list[ast.Call] = []
        self.strings: list[ast.Constant] = []
        self.annotations: list[tuple[ast.Constant, Scope]] = []
        self._package = package
        self._bound: list[tuple[Scope, str, Binding]] = []
        self._scope = self.scopes[tree]
        self._in_annotation = False
        self._methods: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Constant: self._constant,
            ast.NamedExpr: self._walrus,
            ast.Subscript: self._subscript,
            ast.Expr: self._expression,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.Lambda: self._lambda,
            ast.ClassDef: self._class,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.DictComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.Global: self._elsewhere,
            ast.Nonlocal: self._elsewhere,
            ast.ExceptHandler: self._captured,
            ast.MatchAs: self._captured,
            ast.MatchStar: self._captured,
            ast.MatchMapping: self._captured,
        }
        self._all(tree.body)
        # Bound only now: the target of `nonlocal` depends on the bindings of the functions around.
        for scope, name, binding in self._bound:
            if name not in scope.elsewhere:
                scope.bindings.setdefault(name, []).append(binding)
        for scope, name, binding in self._bound:
            home = scope.home(name) if name in scope.elsewhere else None
            if home is not None:
                home.bindings.setdefault(name, []).append(binding)
        # They refer to the walk: without them it goes as soon as nothing else does.
        self._methods.clear()

    def _visit(self, node: ast.AST) -> None:
        self._methods.get(type(node), self._inside)(node)

    def _inside(self, node: ast.AST) -> None:
        for field in FIELDS[type(node)]:
            value = getattr(node, field, None)
            if type(value) is list:
                self._all(value)
            elif isinstance(value, ast.AST):
                self._visit(value)

    def _all(self, nodes: Iterable[Any]) -> None:
        methods, inside = self._methods, self._inside
        for each in nodes:
            if each is not None:  # a keyword-only parameter without a default
                methods.get(type(each), inside)(each)

    def _name(self, node: ast.Name) -> None:
        context = type(node.ctx)
        if context is ast.Store:
            self._bind(node.id, node, "other")
            return
        self.names[node] = self._scope
        if context is ast.Load:
            self.dotted_names.append(DottedName(node, node, (), self._scope))
        else:
            self._bind(node.id, node, "nothing")

    def _attribute(self, node: ast.Attribute) -> None:
        path = [node.attr]
        root = node.value
        while type(root) is ast.Attribute:
            path.append(root.attr)
            root = root.value
        if type(root) is ast.Name:
            path.reverse()
            self.names[root] = self._scope
            self.dotted_names.append(DottedName(node, root, tuple(path), self._scope))
        elif type(root) is not ast.Call or not self._dotted(node):
            self._visit(root)

    def _call(self, node: ast.Call) -> None:
        name = last_name(node.func)
        if name not in CALLS_OF_NAMES:
            self._visit(node.func)
            self._all(node.args)
            self._all(node.keywords)
            return
        if looked_up_by(node):
            self.lookups.append(node)
        if not self._dotted(node):
            self._inside(node)

    def _dotted(self, node: ast.Attribute | ast.Call) -> bool:
        """Note a dotted name, with the names in it; returns False for another expression."""
        parts = taken_apart(node)
        if parts is None:
            return False
        root, path = parts
        self.dotted_names.append(DottedName(node, root, path, self._scope))
        for each in prefixes_of(node):
            if isinstance(each, ast.Call):
                self.names[name_of_function(each)] = self._scope
                self._all(each.args[2:])
        self.names[root] = self._scope
        return True

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            if self._in_annotation:
                self.annotations.append((node, self._scope))
            elif "optim" in node.value:
                self.strings.append(node)

    def _subscript(self, node: ast.Subscript) -> None:
        before = self._in_annotation
        self._visit(node.value)
        self._in_annotation = before and last_name(node.value) != "Literal"
        self._visit(node.slice)
        self._in_annotation = before

    def _annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            before, self._in_annotation = self._in_annotation, True
            self._visit(node)
            self._in_annotation = before

    def _walrus(self, node: ast.NamedExpr) -> None:
        self._visit(node.value)
        inside = self._scope
        while self._scope.is_comprehension and self._scope.parent is not None:
            self._scope = self._scope.parent
        self._visit(node.target)
        self._scope = inside

    def _bind(self, name: str, node: ast.AST, kind: BindingKind, **more: Any) -> None:
        after = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        self._bound.append((self._scope, name, Binding(kind, after, **more)))
        if kind not in ("nothing", "other"):
            self.meaningful.add(name)

    # Statements.

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._visit(node.value)

    def _import(self, node: ast.Import) -> None:
        self.imports.append((node, self._scope))
        for each in node.names:
            self.imported[each] = each.name
            root = each.name.partition(".")[0]
            name = root if each.asname is None else each.name
            self._bind(each.asname or root, node, "import", full_name=name, alias=each)

    def _import_from(self, node: ast.ImportFrom) -> None:
        self.imports.append((node, self._scope))
        module = imported_module(node, self._package)
        for each in node.names:
            if module is None:
                self._bind(each.asname or each.name, node, "other")
            elif each.name == "*":
                self.imported[each] = module
                self._bind("*", node, "star", full_name=module, alias=each)
            else:
                name = self.imported[each] = f"{module}.{each.name}"
                self._bind(each.asname or each.name, node, "import", full_name=name, alias=each)

    def _assign(self, node: ast.Assign) -> None:
        self._visit(node.value)
        for target in node.targets:
            self._assigned(target, node.value)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        sides: Sequence[tuple[ast.expr, ast.expr]] = ()
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            starred = any(isinstance(each, ast.Starred) for each in (*target.elts, *value.elts))
            if not starred and len(target.elts) == len(value.elts):
                sides = tuple(zip(target.elts, value.elts, strict=True))
        if sides:
            for part, part_value in sides:
                self._assigned(part, part_value)
        elif not isinstance(target, ast.Name):
            self._visit(target)
        elif isinstance(value, ast.Constant) and value.value is None:
            self._bind(target.id, value, "nothing")
        else:
            kind: BindingKind = "other" if taken_apart(value) is None else "value"
            self._bind(target.id, value, kind, value=value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value is not None:
            self._visit(node.value)
            self._assigned(node.target, node.value)
        elif isinstance(node.target, ast.Name):
            self._bind(node.target.id, node, "nothing")
        else:
            self._visit(node.target)

    def _augmented(self, node: ast.AugAssign) -> None:
        self._inside(node)
        if isinstance(node.target, ast.Name):
            self.names[node.target] = self._scope

    def _elsewhere(self, node: ast.Global | ast.Nonlocal) -> None:
        is_global = isinstance(node, ast.Global)
        self._scope.elsewhere.update(dict.fromkeys(node.names, is_global))

    def _captured(
        self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping
    ) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name is not None:
            self._bind(name, node, "other")
        self._inside(node)

    # Scopes.

    def _enter(self, node: ast.AST) -> Scope:
        around = self._scope
        self._scope = self.scopes[node] = Scope(node, around)
        return around

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node.name, node, "other")
        self._all(node.decorator_list)
        self._annotation(node.returns)
        self._called(node, node.body)

    def _lambda(self, node: ast.Lambda) -> None:
        self._called(node, [node.body])

    def _called(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, body: Iterable[ast.AST]
    ) -> None:
        self._all(node.args.defaults)
        self._all(node.args.kw_defaults)
        for each in parameters(node.args):
            self._annotation(each.annotation)
        around = self._enter(node)
        for each in parameters(node.args):
            self._bind(each.arg, each, "other")
        self._all(body)
        self._scope = around

    def _class(self, node: ast.ClassDef) -> None:
        self._bind(node.name, node, "other")
        self._all(node.decorator_list)
        self._all(node.bases)
        self._all(node.keywords)
        around = self._enter(node)
        self._all(node.body)
        self._scope = around

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        first, *others = node.generators
        self._visit(first.iter)
        around = self._enter(node)
        self._visit(first.target)
        self._all(first.ifs)
        self._all(others)
        if isinstance(node, ast.DictComp):
            self._visit(node.key)
            self._visit(node.value)
        else:
            self._visit(node.elt)
        self._scope = around


_WALKS: weakref.WeakKeyDictionary[Document, Walk] = weakref.WeakKeyDictionary()


def walk_of(document: Document) -> Walk:
    """The walk over a file, which is done only once."""
    walk = _WALKS.get(document)
    if walk is None:
        package = package_of(document.module, document.is_package)
        walk = _WALKS[document] = Walk(document.tree, package)
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

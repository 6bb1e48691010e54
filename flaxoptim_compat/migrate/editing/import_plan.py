"""The imports that a file gets, keeps and loses when it is rewritten for one target."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import re
from collections.abc import Collection, Iterator

from flaxoptim_compat.migrate.editing import import_statements
from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_statements import Import, Statement, root_of
from flaxoptim_compat.migrate.names import surface
from flaxoptim_compat.migrate.names.dotted import names_in
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.program.document import Document

_OURS = "flaxoptim_compat"
# Modules that importing the package alone makes available, in every version that may be installed.
_COME_ALONG = {
    "jax": (
        *("api_util", "custom_batching", "custom_derivatives", "debug", "distributed", "dlpack"),
        *("dtypes", "errors", "image", "lax", "monitoring", "nn", "numpy", "ops", "profiler"),
        *("random", "scipy", "sharding", "stages", "tree", "tree_util", "typing"),
    ),
    "flax": ("core", "jax_utils", "linen", "serialization", "struct", "traverse_util"),
}
# The usual imports of modules that are not `from package import module`.
_HABITS = {
    "flax.linen": Import("flax", "linen", "nn"),
    "jax.numpy": Import("", "jax.numpy", "jnp"),
    "numpy": Import("", "numpy", "np"),
    **{f"jax.{each}": Import("", "jax") for each in _COME_ALONG["jax"] if each != "numpy"},
}


@dataclasses.dataclass(frozen=True, eq=False)
class _Imported:
    """One alias of an import statement.

    Args:
      alias: the alias itself.
      statement: the statement around it.
      scope: the scope that it binds a name in.
      written: the import as it is written.
      name: the full name of the imported object.
      is_exported: whether other files may import the name from this file.
    """

    alias: ast.alias
    statement: Statement
    scope: Scope
    written: Import
    name: str
    is_exported: bool

    @property
    def binds_root(self) -> bool:
        """True for ``import a.b``, which binds ``a``."""
        return not (self.written.module or self.written.alias) and "." in self.written.name


class ImportPlan:
    """The imports of one file after ``rewrite`` to one target.

    Args:
      document: the file.
      names: the names of the file.
      needed: the names that other files of the project import from this one.
      keeps_unused: whether an import that moves to this package stays although nothing uses it.
    """

    def __init__(
        self,
        document: Document,
        names: Names,
        needed: Collection[str] = frozenset(),
        *,
        keeps_unused: bool = True,
    ) -> None:
        self._keeps_unused = keeps_unused
        self._document = document
        self._names = names
        self._imported = {each.alias: each for each in _read(document, names, needed)}
        # {the root of a use: the import that brought it}
        self._bindings = {
            names_in(use.node)[-1]: use.binding
            for use in names.uses
            if isinstance(use.node, ast.expr) and use.binding is not None
        }
        self._released: set[ast.Name] = set()
        self._moved: dict[ast.alias, Import] = {}
        self._dropped: set[ast.alias] = set()
        self._promised: set[ast.alias] = set()
        # {a new import: the same with the name it gets}, and where these are used.
        self._new: dict[Import, Import] = {}
        self._places: dict[Import, list[ast.AST]] = {}

    def name_of(self, dotted: str, at: ast.AST, wanted: str = "") -> str:
        """An expression for a module or an object, which the file will import if it does not.

        Args:
          dotted: ``module``, ``module:attribute``, or an object of a package by its usual name.
          at: the node that uses it.
          wanted: the name to import it under, if that is free.
        """
        module, path = _split(dotted)
        if module == "builtins" and not self._is_shadowed(path, at):
            return path
        known = self._reached(module, path, at)
        if known is not None:
            return known
        parent, _, last = module.rpartition(".")
        habit = _HABITS.get(module) or Import(parent, last)
        source = habit._replace(alias="")
        new = self._new.get(source)
        if new is None:
            bound = self._free(wanted or habit.bound, module)
            new = self._new[source] = Import(*source[:2], "" if bound == source.bound else bound)
        self._places.setdefault(new, []).append(at)
        inside = f"{module}.".removeprefix(f"{source.full_name}.")
        return ".".join(filter(None, [new.bound, inside.rstrip("."), path]))

    def release(self, node: ast.AST) -> None:
        """Note that code with names in it, or an import alias, will be gone."""
        if isinstance(node, ast.alias):
            self._dropped.add(node)
        elif isinstance(node, ast.expr):
            self._released.update(each for each in ast.walk(node) if isinstance(each, ast.Name))

    def is_released(self, node: ast.AST) -> bool:
        """True if the node of a NameUse, or an import alias, was released."""
        if isinstance(node, ast.alias):
            return node in self._dropped
        names = names_in(node) if isinstance(node, ast.expr) else []
        return bool(names) and self._released.issuperset(names)

    def redirect(self, alias: ast.alias, name: str) -> None:
        """Let an import bring another object under the same name in the file.

        The import goes if it was used, and every use is released. ``import old.module`` without
        ``as``, after which the file writes the full name, brings the new module if that is in the
        same package; else it goes, or becomes ``import old``, and the caller changes those uses.

        Args:
          alias: the import.
          name: ``module:attribute``, or with dots only; for ``*`` a module.
        """
        written = self._imported[alias].written
        module, _, last = name.rpartition(":" if ":" in name else ".")
        if written.name == "*":
            module, last = name, "*"
        elif ":" not in name and not written.module:
            module, last = "", name
        self._moved[alias] = Import(
            module, last, "" if last in (written.bound, "*") else written.bound
        )

    def edits(self) -> list[Edit]:
        """The edits of the imports, after the changes of all rules."""
        changed: dict[Statement, list[Import]] = {}
        for statement, _ in self._names.walk.imports:
            fates = map(self._fate, (self._imported[each] for each in statement.names))
            imports = [each for each in fates if each is not None]
            if imports != import_statements.imports_of(statement):
                changed[statement] = imports
        return list(import_statements.edits(self._document, changed, self._places))

    def _fate(self, imported: _Imported) -> Import | None:
        """The import that an old one becomes, or the old one if it stays; None if it goes."""
        alias, bound = imported.alias, imported.written.bound
        if alias not in self._promised and not imported.is_exported:
            if alias in self._dropped:
                return None
            is_tried = isinstance(self._document.parents[imported.statement], _TRIED)
            if not is_tried and (self._lost_its_uses(imported) or self._is_in_vain(imported)):
                return None
        moved = self._moved.get(alias)
        if moved is None or not imported.binds_root:
            return moved or imported.written
        if not moved.module and root_of(moved.name) == bound != moved.name:
            return Import("", moved.name)
        return None if self._is_bound_elsewhere(imported) else Import("", bound)

    def _lost_its_uses(self, imported: _Imported) -> bool:
        """True if an import was used, and all its uses will be gone."""
        # A repeated import, as in a notebook, has the readers of the first one.
        readers = [
            each
            for each in self._names.readers.get((imported.scope, imported.written.bound), ())
            if each not in self._bindings
            or self._imported[self._bindings[each]].name == imported.name
        ]
        is_used = any(each in self._bindings for each in readers)
        return is_used and self._released.issuperset(readers)

    def _is_in_vain(self, imported: _Imported) -> bool:
        """True if an import would bring a name of this package that nothing else here names."""
        moved = self._moved.get(imported.alias)
        is_ours = moved is not None and root_of(moved.full_name) == _OURS
        if not is_ours or self._keeps_unused or imported.written.name == "*":
            return False
        # Strings may name it too, as for globals() and eval, and so may comments with types.
        word = re.compile(rf"\b{imported.written.bound}\b")
        spoken = len(word.findall(self._document.text))
        return spoken == len(word.findall(self._document.source(imported.statement)))

    def _is_bound_elsewhere(self, imported: _Imported) -> bool:
        """True if another import certainly binds the same name in the same scope as well."""
        others = list(self._imported.values())
        before = others.index(imported)
        # If several go, as submodules of jax may, the first becomes `import jax`.
        stay = [each for each in others[before + 1 :] if each.alias not in self._moved]
        return any(
            (each.scope, each.written.bound) == (imported.scope, imported.written.bound)
            and not self._is_conditional(each)
            and not surface.is_of_flax_optim(each.name)
            for each in others[:before] + stay
        )

    def _free(self, name: str, module: str) -> str:
        taken = self._names.taken | {each.bound for each in self._new.values()}
        # Names of flaxoptim_compat were in flax.
        root = root_of(module).removesuffix("optim_compat")
        other = f"{name}_lib" if root == module else f"{root}_{name}"
        numbered = (f"{other}_{number}" for number in itertools.count(2))
        return next(each for each in itertools.chain([name, other], numbered) if each not in taken)

    def _reached(self, module: str, path: str, at: ast.AST) -> str | None:
        """The expression for a name through an import of the file, which then stays; or None."""
        ways: list[tuple[tuple[int, bool], ast.alias, str]] = []
        full = ".".join(filter(None, [module, path]))
        for each in self._imported.values():
            moved = self._moved.get(each.alias)
            name = moved.full_name if moved is not None else each.name
            bound = each.written.bound
            base = bound if each.binds_root else name
            inside = f"{full}.".removeprefix(f"{base}.")
            if bound == "*" or f"{full}." == inside or each.alias in self._dropped:
                continue
            along = (f"{base}.{inner}" for inner in _COME_ALONG.get(base, ()))
            is_there = len(base) >= len(module) or (each.binds_root and name == module)
            if (is_there or module in along) and self._is_visible(each, at):
                # Beside `import jax`, only `import jax.profiler` certainly loads jax.profiler.
                rank = len(base), each.binds_root and name == module
                ways.append((rank, each.alias, f"{bound}.{inside}".rstrip(".")))
        if not ways:
            return None
        _, alias, expression = max(ways, key=lambda each: each[0])
        self._promised.add(alias)
        return expression

    def _is_visible(self, imported: _Imported, at: ast.AST) -> bool:
        """True if the name that an import binds certainly refers to its object at a place."""
        if self._is_conditional(imported):
            return False
        scope, bound = self._scope_at(at), imported.written.bound
        statement = self._document.statement(at)
        position = (statement.lineno, statement.col_offset)
        home = scope.binder(bound, position)
        if home is not imported.scope or self._names.meanings.of(bound, home) is None:
            return False
        before = (imported.statement.lineno, imported.statement.col_offset)
        if scope is home or home.parent is not None:
            return scope is not home or before < position
        # A function may be called before an import that stands below it, as in a notebook.
        outermost = import_statements.outermost(self._document, statement)
        return before < (outermost.lineno, outermost.col_offset)

    def _is_conditional(self, imported: _Imported) -> bool:
        return isinstance(self._document.parents[imported.statement], _CONDITIONAL)

    def _is_shadowed(self, name: str, at: ast.AST) -> bool:
        """True if the program binds a builtin name itself, in a scope around a place."""
        return any(name in each.bindings for each in self._scope_at(at).outward)

    def _scope_at(self, node: ast.AST) -> Scope:
        """The scope in which a node stands."""
        child = node
        while True:
            scope = self._names.walk.scopes.get(node)
            if scope is not None and (node is child or _is_in_body(node, child)):
                return scope
            child, node = node, self._document.parents[node]


def _is_in_body(node: ast.AST, child: ast.AST) -> bool:
    """True if a part of a scope's node, such as a body, is evaluated in that scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in node.body
    return not isinstance(node, ast.Lambda) or child is node.body


_TRIED = (ast.Try, ast.ExceptHandler)
_CONDITIONAL = (
    *_TRIED,
    *(ast.If, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.While, ast.match_case),
)


def _read(document: Document, names: Names, needed: Collection[str]) -> Iterator[_Imported]:
    exported = {*_listed(document.tree), *needed}
    for statement, scope in names.walk.imports:
        for alias, written in zip(
            statement.names, import_statements.imports_of(statement), strict=True
        ):
            is_exported = scope.parent is None and (
                document.is_package or written.bound in exported or written.alias == written.name
            )
            name = names.imported.get(alias, "")
            yield _Imported(alias, statement, scope, written, name, is_exported)


def _listed(tree: ast.Module) -> Iterator[str]:
    """The names in ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
                for each in ast.walk(node):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield each.value


def _split(name: str) -> tuple[str, str]:
    """The module and the attributes of a wanted name.

    Args:
      name: ``module:attributes``, or a module or object with dots only, as one thinks of it.
    """
    module, colon, path = name.partition(":")
    root, _, inside = name.partition(".")
    first, _, attributes = inside.partition(".")
    if not colon and attributes and first in _COME_ALONG.get(root, ()):
        return f"{root}.{first}", attributes
    return module, path

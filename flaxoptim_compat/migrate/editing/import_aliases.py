"""The imports that a file has, and who uses them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterator, Mapping

from flaxoptim_compat.migrate.editing.import_conventions import Source, comes_along
from flaxoptim_compat.migrate.names import surface
from flaxoptim_compat.migrate.names.dotted import names_in
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.program.document import Document

_CONDITIONAL = (
    ast.If,
    ast.Try,
    ast.ExceptHandler,
    ast.With,
    ast.AsyncWith,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.match_case,
)


@dataclasses.dataclass(frozen=True, eq=False)
class ImportedName:
    """One alias of an import.

    Args:
      alias: the alias.
      statement: the statement around it.
      scope: the scope that it binds a name in.
      bound: that name; ``*`` for all names of a module.
      name: the full name of what is imported.
      is_exported: whether others may take the name from this file.
      is_conditional: whether it stands inside of a ``try``, an ``if`` or another block.
      can_go: whether the program does not mind if nothing is imported here.
    """

    alias: ast.alias
    statement: ast.Import | ast.ImportFrom
    scope: Scope
    bound: str
    name: str
    is_exported: bool
    is_conditional: bool
    can_go: bool

    @property
    def is_plain(self) -> bool:
        """Whether the import has no ``from``."""
        return isinstance(self.statement, ast.Import)

    @property
    def binds_root(self) -> bool:
        """Whether it is ``import a.b``, which binds ``a``."""
        return self.is_plain and "." in self.name and not self.alias.asname

    @property
    def source(self) -> Source:
        """What it brings."""
        if isinstance(self.statement, ast.Import):
            return Source("", self.alias.name)
        return Source("." * self.statement.level + (self.statement.module or ""), self.alias.name)

    @property
    def stands_for(self) -> str:
        """The full name of what the name in the file is."""
        return self.bound if self.binds_root else self.name

    @property
    def served(self) -> str | None:
        """What serves it if it is a name of flax.optim."""
        is_old = surface.is_of_flax_optim(self.name)
        return surface.served(self.name) if is_old else None


class Aliases:
    """All imports of one file.

    Args:
      document: the file.
      names: its names.
      needed: the names that other files of the project import from this one.
    """

    def __init__(self, document: Document, names: Names, needed: Collection[str]) -> None:
        self._document = document
        self._names = names
        self.all = list(self._read(needed))
        self._by_alias = {each.alias: each for each in self.all}
        # For the root of each use the import that brought it.
        self._bindings = {
            names_in(use.node)[-1]: use.binding
            for use in names.uses
            if isinstance(use.node, ast.expr) and use.binding is not None
        }

    def of(self, alias: ast.alias) -> ImportedName:
        """What is known of an alias."""
        return self._by_alias[alias]

    def expression_of(
        self,
        module: str,
        path: str,
        at: ast.AST,
        without: Collection[ast.alias],
        moved: Mapping[ast.alias, Source],
    ) -> tuple[ImportedName, str] | None:
        """An import that is there already and how a name is reached through it.

        Args:
          module: the module that is wanted.
          path: the attributes of it that are wanted.
          at: where.
          without: imports that will be gone.
          moved: imports that will bring something else.
        """
        found: list[tuple[int, ImportedName, str]] = []
        full = ".".join(filter(None, [module, path]))
        for each in self.all:
            brought = moved[each.alias].full_name if each.alias in moved else each.served
            base = each.stands_for if each.binds_root else brought or each.name
            inside = f"{full}.".removeprefix(f"{base}.")
            if each.bound == "*" or f"{full}." == inside or each.alias in without:
                continue
            at_hand = len(base) >= len(module) or comes_along(module, base)
            at_hand = at_hand or (each.binds_root and module == (brought or each.name))
            if at_hand and self._is_visible(each, at):
                found.append((len(base), each, f"{each.bound}.{inside}".rstrip(".")))
        if not found:
            return None
        _, imported, expression = max(found, key=lambda each: each[0])
        return imported, expression

    def is_shadowed(self, name: str, at: ast.AST) -> bool:
        """Whether a builtin name is something else at a place."""
        return any(name in each.bindings for each in self.scope_at(at).outward)

    def lost_its_uses(self, imported: ImportedName, released: Collection[ast.Name]) -> bool:
        """Whether an import was used, and is not any more."""
        if imported.bound == "*":
            mine = [use for use in self._names.uses if use.binding is imported.alias]
            used = [use.node for use in mine if isinstance(use.node, ast.expr)]
            return bool(used) and all(names_in(each)[-1] in released for each in used)
        uses = 0
        for reader in self._names.readers.get((imported.scope, imported.bound), ()):
            binding = self._bindings.get(reader)
            # An import that is repeated, as in a notebook, is used by what uses the first.
            is_mine = binding is not None and self._by_alias[binding].name == imported.name
            uses += is_mine
            if (is_mine or binding is None) and reader not in released:
                return False
        return uses > 0

    def others(self, imported: ImportedName) -> list[ImportedName]:
        """The imports that certainly bind the same name in the same scope as well."""
        return [
            each
            for each in self.all
            if each is not imported
            and (each.scope, each.bound) == (imported.scope, imported.bound)
            and not each.is_conditional
            and not surface.is_of_flax_optim(each.name)
        ]

    def scope_at(self, node: ast.AST) -> Scope:
        """The scope in which a node stands."""
        parents = self._document.parents
        child = node
        while True:
            scope = self._names.walk.scopes.get(node)
            if scope is not None and (node is child or _is_in_body(node, child)):
                return scope
            child, node = node, parents[node]

    def _is_visible(self, imported: ImportedName, at: ast.AST) -> bool:
        """Whether the name that an import binds certainly has its meaning at a place."""
        if imported.is_conditional:
            return False
        scope = self.scope_at(at)
        statement = self._document.statement(at)
        position = (statement.lineno, statement.col_offset)
        home = scope.binder(imported.bound, position)
        if home is not imported.scope or self._names.meanings.of(imported.bound, home) is None:
            return False
        before = (imported.statement.lineno, imported.statement.col_offset)
        if scope is home or home.parent is not None:
            return scope is not home or before < position
        # A function may be called before an import that stands below it, as in a notebook.
        outermost: ast.AST = statement
        while not isinstance(parent := self._document.parents[outermost], ast.Module):
            outermost = parent
        assert isinstance(outermost, ast.stmt)
        return before < (outermost.lineno, outermost.col_offset)

    def _read(self, needed: Collection[str]) -> Iterator[ImportedName]:
        listed = _listed(self._document.tree)
        for statement, scope in self._names.walk.imports:
            parent = self._document.parents[statement]
            is_top = scope.parent is None
            for alias in statement.names:
                bound = alias.asname or alias.name
                if isinstance(statement, ast.Import) and alias.asname is None:
                    bound = bound.partition(".")[0]
                is_exported = is_top and (
                    self._document.is_package
                    or bound in listed
                    or bound in needed
                    or alias.asname == alias.name
                )
                name = self._names.imported.get(alias, "")
                conditional = isinstance(parent, _CONDITIONAL)
                can_go = not isinstance(parent, ast.Try | ast.ExceptHandler)
                yield ImportedName(
                    alias, statement, scope, bound, name, is_exported, conditional, can_go
                )


def _listed(tree: ast.Module) -> set[str]:
    """The names in ``__all__``."""
    found: set[str] = set()
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
            found.update(
                each.value
                for each in ast.walk(node)
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            )
    return found


def _is_in_body(node: ast.AST, child: ast.AST) -> bool:
    """Whether a part of a scope's node is evaluated in that scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in node.body
    return not isinstance(node, ast.Lambda) or child is node.body

"""Which imports a file gets, keeps and loses when it is rewritten for one target."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from flaxoptim_compat.migrate.editing import import_conventions, import_statements
from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_aliases import Aliases, ImportedName
from flaxoptim_compat.migrate.editing.import_conventions import Import, Source
from flaxoptim_compat.migrate.names.dotted import names_in
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.program.document import Document

_OURS = "flaxoptim_compat"


class ImportPlan:
    """The imports of one file after ``rewrite`` to one target.

    Args:
      document: the file.
      names: its names.
      needed: the names that other files of the project import from this one.
      keeps_unused: whether what would only move to this package stays although nothing uses it.
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
        self._aliases = Aliases(document, names, needed)
        self._released: set[ast.Name] = set()
        self._moved: dict[ast.alias, Source] = {}
        self._dropped: set[ast.alias] = set()
        self._promised: set[ast.alias] = set()
        self._planned: dict[str, Import] = {}
        self._places: dict[Import, list[ast.AST]] = {}

    def name_of(self, dotted: str, at: ast.AST, wanted: str = "") -> str:
        """An expression for a module or an object, which the file will import if it does not.

        Args:
          dotted: ``module``, ``module:attribute``, or an object of a package by its usual name.
          at: where it is wanted.
          wanted: under which name to import it, if that is free.
        """
        module, path = import_conventions.split(dotted)
        if module == "builtins" and not self._aliases.is_shadowed(path, at):
            return path
        known = self._aliases.expression_of(module, path, at, self._dropped, self._moved)
        if known is not None:
            imported, expression = known
            self._promised.add(imported.alias)
            return expression
        key = f"{module}:{path}" if wanted else module
        planned = self._planned.get(key)
        if planned is None:
            planned = import_conventions.import_of(module, "")
            same = next((each for each in self._planned.values() if _same(each, planned)), None)
            bound = same.bound if same else self._free(wanted or planned.bound, module)
            planned = self._planned[key] = planned._replace(bound=bound)
        self._places.setdefault(planned._replace(path=""), []).append(at)
        return ".".join(filter(None, [planned.bound, planned.path, path]))

    def release(self, node: ast.AST) -> None:
        """Note that the node of a NameUse, or an import alias, will be gone."""
        if isinstance(node, ast.alias):
            self._dropped.add(node)
        elif isinstance(node, ast.expr):
            self._released.update(names_in(node))

    def is_released(self, node: ast.AST) -> bool:
        """Whether the node of a NameUse was released."""
        if isinstance(node, ast.alias):
            return node in self._dropped
        names = names_in(node) if isinstance(node, ast.expr) else []
        return bool(names) and self._released.issuperset(names)

    def redirect(self, alias: ast.alias, name: str) -> None:
        """Let an import bring something else under the name that it has in the file.

        If it was used, and every use is released, it goes instead. ``import old.module`` without
        ``as``, which the file then writes in full, brings the new module if that is in the same
        package; else it goes, or becomes ``import old``: who asks for it changes those uses.

        Args:
          alias: the import.
          name: ``module:attribute``, or with dots only; for ``*`` a module.
        """
        is_plain = self._aliases.of(alias).is_plain
        self._moved[alias] = import_conventions.source(name, alias.name == "*", is_plain)

    def edits(self) -> list[Edit]:
        """The changes of the imports, once every rule has been asked."""
        changes: dict[import_statements.Statement, dict[ast.alias, Source | None]] = {}
        for imported in self._aliases.all:
            fate = self._fate(imported)
            if fate != imported.source:
                changes.setdefault(imported.statement, {})[imported.alias] = fate
        placed = import_statements.placed(self._document, self._aliases, self._places, changes)
        return import_statements.edits(self._document, changes, placed)

    def _fate(self, imported: ImportedName) -> Source | None:
        """What an import brings from now on; None for nothing."""
        alias = imported.alias
        promised = alias in self._promised
        if not promised and not imported.is_exported:
            if alias in self._dropped:
                return None
            lost = self._aliases.lost_its_uses(imported, self._released)
            if (lost or self._is_in_vain(imported)) and imported.can_go:
                return None
        moved = self._moved.get(alias)
        if moved is None and promised and imported.served is not None:
            moved = import_conventions.source(imported.served, False, imported.is_plain)
        if moved is None or not imported.binds_root:
            return moved or imported.source
        if import_conventions.root_of(moved.name) != imported.bound:
            moved = Source("", imported.bound)
        same = moved.name == imported.bound and self._aliases.others(imported)
        return None if same else moved

    def _is_in_vain(self, imported: ImportedName) -> bool:
        """Whether it would bring something of this package that nothing in the file speaks of."""
        moved = self._moved.get(imported.alias)
        is_ours = moved is not None and import_conventions.root_of(moved.full_name) == _OURS
        if not is_ours or self._keeps_unused or imported.bound == "*":
            return False
        # Not in a string either, as for globals() and eval, or in a comment with types.
        word = re.compile(rf"\b{imported.bound}\b")
        spoken = len(word.findall(self._document.text))
        return spoken == len(word.findall(self._document.source(imported.statement)))

    def _free(self, name: str, module: str) -> str:
        taken = self._names.taken | {each.bound for each in self._planned.values()}
        # What is imported from flaxoptim_compat is what was in flax.
        root = import_conventions.root_of(module).removesuffix("optim_compat")
        other = f"{name}_lib" if root == module else f"{root}_{name}"
        candidates = [name, other, *(f"{other}_{number}" for number in range(2, 99))]
        return next(each for each in candidates if each not in taken)


def _same(one: Import, other: Import) -> bool:
    return (one.module, one.name) == (other.module, other.name)

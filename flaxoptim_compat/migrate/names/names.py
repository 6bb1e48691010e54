"""The full names of objects that a file uses: through aliases, scopes and other files."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from typing import NamedTuple

from flaxoptim_compat.migrate.names import gin
from flaxoptim_compat.migrate.names.dotted import (
    BY_NAME,
    DottedName,
    constant_getattr,
    looked_up_by,
    taken_apart,
)
from flaxoptim_compat.migrate.names.meanings import Exporter, Meaning, Way
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.names.surface import as_of_old, is_of_flax_optim, served
from flaxoptim_compat.migrate.program.document import Document


def annotation(node: ast.Constant, document: Document) -> ast.expr | None:
    """The expression in an annotation in quotes, with its place in the file.

    Args:
      node: the string.
      document: the file.

    Returns:
      None if the string is no expression, or is written with escapes or in pieces.
    """
    source = document.source(node)
    quote = source[:1] * 3 if source[:3] in ("'''", '"""') else source[:1]
    text = str(node.value)
    if quote not in ("'", '"', "'''", '"""') or source != f"{quote}{text}{quote}" or "\n" in text:
        return None
    try:
        expression = ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    column = node.col_offset + len(quote) - 1
    for each in ast.walk(expression):
        if isinstance(each, ast.expr | ast.keyword | ast.arg):
            each.lineno = each.end_lineno = node.lineno
            each.col_offset += column
            assert each.end_col_offset is not None
            each.end_col_offset += column
    return expression


def names_in_annotation(node: ast.AST) -> Iterator[tuple[ast.expr, ast.Name, tuple[str, ...]]]:
    """The dotted names in an expression, each as its root and its path."""
    if isinstance(node, ast.expr):
        parts = taken_apart(node)
        if parts is not None:
            yield node, *parts
            return
    for each in ast.iter_child_nodes(node):
        yield from names_in_annotation(each)


class NameUse(NamedTuple):
    """One place that refers to an object outside of the file.

    Args:
      node: an import alias, or the outermost attribute or ``getattr``.
      name: the full name, such as ``flax.optim.Adam``; for ``import *`` that of the module.
      binding: the alias that imported the root; None if the root is a variable of the file, or
        imported from another file of the project.
      way: the way of the name into the file: ``import``, ``variable`` or ``project``.
    """

    node: ast.expr | ast.alias
    name: str
    binding: ast.alias | None
    way: Way


class Names:
    """The names of one file.

    Args:
      document: the file.
      exporter: the exporter of the file; None: there are no other files.
    """

    def __init__(self, document: Document, exporter: Exporter | None = None) -> None:
        exporter = Exporter(document) if exporter is None else exporter
        self.document = document
        self.uses: list[NameUse] = []
        self.unknown: list[tuple[ast.expr | ast.alias, str]] = []
        self.strings: list[tuple[ast.Constant, tuple[str, ...]]] = []
        # Calls of getattr, hasattr, import_module... about flax.optim that are no uses, or about
        # what serves it.
        self.lookups: list[ast.Call] = []
        # The constant that each use in a quoted annotation stands in.
        self.quoted: dict[ast.expr, ast.Constant] = {}
        self._project = exporter.project
        self._scopes = exporter.scopes
        self.walk = exporter.walk
        self.imported = self.walk.imported
        self.meanings = exporter
        self._read_imports()
        for dotted in self.walk.dotted_names:
            self._read_dotted(dotted)
        self._read_annotations()
        self._read_lookups()
        for node in self.walk.strings:
            names = gin.names_in_string(str(node.value))
            if names:
                self.strings.append((node, names))
        self.uses.sort(key=lambda use: (use.node.lineno, use.node.col_offset))

    def full_name(self, node: ast.expr) -> str | None:
        """The full name of the object that an expression refers to.

        Args:
          node: a name, dotted or not, or a ``getattr`` or import call with constants.

        Returns:
          Such as ``flax.optim.Adam``; None if the object is the program's own, or not known.
        """
        meaning = self.meanings.of_expression(node)
        return None if meaning is None else meaning.name

    def taken_from(self) -> frozenset[tuple[str, str]]:
        """The module and the name for each name that the file takes from other files."""
        return frozenset(self._project.taken)

    @functools.cached_property
    def taken(self) -> frozenset[str]:
        """The names that are bound or used anywhere in the file."""
        bound = [name for scope in self.walk.scopes.values() for name in scope.bindings]
        return frozenset([*bound, *(node.id for node in self._scopes)])

    @functools.cached_property
    def readers(self) -> dict[tuple[Scope, str], list[ast.Name]]:
        """The nodes that read or delete a name, by the scope that binds it and by the name."""
        readers: dict[tuple[Scope, str], list[ast.Name]] = {}
        for node, scope in self._scopes.items():
            home = scope.binder(node.id, (node.lineno, node.col_offset))
            readers.setdefault((home or scope.module, node.id), []).append(node)
        return readers

    def _read_imports(self) -> None:
        for alias, imported in self.imported.items():
            meaning = self.meanings.outside(Meaning(imported, alias, "import"))
            if not self._project.is_own(imported):
                self.uses.append(NameUse(alias, *meaning))

    def _read_dotted(self, dotted: DottedName) -> None:
        meaning = self.meanings.of_dotted(dotted.root, dotted.path)
        if meaning is None:
            self._read_doubt(dotted)
        elif meaning.way != "variable" or dotted.path:
            self.uses.append(NameUse(dotted.node, *meaning))

    def _read_doubt(self, dotted: DottedName) -> None:
        """Note a name that may be one of flax.optim, but has another binding too, or none."""
        name = dotted.root.id
        if name != "flax" and not self.meanings.may_mean(name):
            return
        home = dotted.scope.binder(name, (dotted.root.lineno, dotted.root.col_offset))
        if home is None and is_of_flax_optim(".".join([name, *dotted.path])):
            # As with `from main import *`, where main is not read.
            self.unknown.append((dotted.node, f"{name} is not imported in any file that is read"))
        if home is None or len(home.bindings[name]) == 1:
            return
        meanings = self.meanings.all_of(name, home)
        are_variables = all(each.way == "variable" for each in meanings)
        if are_variables and not dotted.path and len(meanings) == len(home.bindings[name]):
            return  # as after `cls = optim.Adam` or `cls = optim.LAMB`, which are read themselves
        for each in meanings:
            full = ".".join([each.name, *dotted.path])
            if is_of_flax_optim(full):
                self.unknown.append((dotted.node, f"{name} is bound to something else as well"))
                return

    def _read_annotations(self) -> None:
        """Read the annotations in quotes."""
        for constant, scope in self.walk.annotations:
            expression = annotation(constant, self.document)
            if expression is None:
                continue
            known = len(self.uses)
            for node, root, path in names_in_annotation(expression):
                self._scopes[root] = scope
                self.quoted[node] = constant
                self._read_dotted(DottedName(node, root, path, scope))
            if len(self.uses) > known:
                self._adopt(expression, constant)

    def _adopt(self, expression: ast.expr, constant: ast.Constant) -> None:
        """Add the expression of an annotation in quotes to the tree of the document."""
        self.document.quoted[constant] = expression
        parents = self.document.parents
        parents[expression] = constant
        for node in ast.walk(expression):
            parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))

    def _read_lookups(self) -> None:
        """Note the calls that look up names of flax.optim while the program runs."""
        for node in self.walk.lookups:
            function = looked_up_by(node)
            if function not in BY_NAME:
                argument = self.document.source(node.args[0]) if node.args else ""
                asked = getattr(self.document.parents[node], "attr", "")
                if "flax.optim" in argument or (asked == "optim" and "flax" in argument):
                    self.lookups.append(node)
                continue
            base = self.full_name(node.args[0]) or ""
            if function == "getattr":
                # A computed name still has to be changed after `rewrite --to shim`.
                is_found = is_of_flax_optim(base) or served(as_of_old(base)) is not None
            else:
                named = f"{base}.{getattr(node.args[1], 'value', '')}"
                asks = function == "hasattr" and is_of_flax_optim(named)
                is_found = asks or named == "flax.optim"
            if is_found and constant_getattr(node) is None:
                self.lookups.append(node)

"""What a file passes on to those that import from it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.names.dotted import imports_of
from flaxoptim_compat.migrate.names.meanings import Meanings
from flaxoptim_compat.migrate.names.project import NO_EXPORTS, Exports, Project
from flaxoptim_compat.migrate.names.surface import as_of_old, is_of_flax_optim
from flaxoptim_compat.migrate.names.walk import walk_of
from flaxoptim_compat.migrate.program.modules import package_of

_OPTIM = re.compile(r"\b(\w+)\.optim\b")


class Exporter(Mapping[str, str]):
    """The names at the top of a file that stand for something from outside of it, and for what.

    Each is worked out when it is asked for, which may take those of other files.

    Args:
      document: the file.
      exports: what the other files of its project pass on.
    """

    def __init__(self, document: Document, exports: Exports = NO_EXPORTS) -> None:
        self.document = document
        self.project = Project(document, exports)
        self.walk = walk_of(document)
        # The scope in which each name stands; others come to it from annotations in quotes.
        self.names = dict(self.walk.names)
        self.meanings = Meanings(self.names, self.project)
        self._top = self.walk.scopes[document.tree]
        self._of_stars: dict[str, str] | None = None

    def __getitem__(self, name: str) -> str:
        if name == "*":
            raise KeyError(name)
        if name not in self._top.bindings:
            return self._brought()[name]
        meaning = self.meanings.of(name, self._top)
        if meaning is None:
            raise KeyError(name)
        return meaning.name

    def __iter__(self) -> Iterator[str]:
        candidates = dict.fromkeys([*self._brought(), *self._top.bindings])
        return (name for name in candidates if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def names_flax_optim(self) -> bool:
        """Whether the file names flax.optim, or what serves it; few names are read for that."""
        package = package_of(self.document.module, self.document.is_package)
        imported = (name for node, _ in self.walk.imports for name, _ in imports_of(node, package))
        chains = (
            self.meanings.of_chain(each.root, each.path)
            for each in self.walk.chains
            if "optim" in each.path or isinstance(each.root, ast.Call)
        )
        return (
            any(self._is_old(self.project.through(name)) for name in imported)
            or any(each is not None and self._is_old(each.name) for each in chains)
            or any(map(self._looks_up_optim, self.walk.lookups))
            or any(self._is_old(f"{root}.optim") for root in self._roots_in_quotes())
        )

    def _is_old(self, name: str) -> bool:
        return is_of_flax_optim(as_of_old(name)) and not self.project.is_own(name)

    def _looks_up_optim(self, node: ast.Call) -> bool:
        if "flax.optim" in self.document.source(node):
            return True
        base = self.meanings.of_expression(node.args[0]) if len(node.args) > 1 else None
        return base is not None and self._is_old(
            f"{base.name}.{getattr(node.args[1], 'value', '')}"
        )

    def _roots_in_quotes(self) -> Iterator[str]:
        """What stands before ``.optim`` in the annotations that are in quotes."""
        for node, scope, _ in self.walk.annotations:
            for name in _OPTIM.findall(str(node.value)):
                home = scope.binder(name, (node.lineno, node.col_offset))
                meaning = None if home is None else self.meanings.of(name, home)
                if meaning is not None:
                    yield meaning.name

    def _brought(self) -> Mapping[str, str]:
        """What the ``import *`` of the file bring, all of which it passes on."""
        if self._of_stars is None:
            self._of_stars = {}  # so that circles end
            self._of_stars = self.meanings.of_stars(self._top)
        return self._of_stars


def exporters(documents: Sequence[Document]) -> dict[Document, Exporter]:
    """The files of a project, each of which can ask for what the others pass on.

    Args:
      documents: all of them.
    """
    by_module: dict[str, Exporter] = {}
    exports = Exports(frozenset(each.module for each in documents if each.module), by_module)
    found = {each: Exporter(each, exports) for each in documents}
    by_module.update({each.module: exporter for each, exporter in found.items() if each.module})
    return found

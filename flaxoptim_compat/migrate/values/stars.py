"""Which names ``import *`` brings, from files of the program and from flax.optim."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from flaxoptim_compat.migrate.names import surface
from flaxoptim_compat.migrate.names.walk import walk_of
from flaxoptim_compat.migrate.program.document import Document


class Stars:
    """The names that ``import *`` brings.

    Args:
      modules: for each file, the files that it imports, by the names it imports them by.
    """

    def __init__(self, modules: Mapping[Document, Mapping[str, Document]]) -> None:
        self._modules = modules
        self._brought: dict[Document, Collection[str]] = {}
        self._old: dict[Document, Mapping[str, str]] = {}

    def brought(self, document: Document) -> Collection[str]:
        """The names that a file gets, and that it passes on in its turn."""
        if document not in self._brought:
            self._brought[document] = ()  # so that circles end
            found = (name for each in self._taken(document) for name in self.given(each))
            self._brought[document] = frozenset(found)
        return self._brought[document]

    def of_flax_optim(self, document: Document) -> Mapping[str, str]:
        """The names that a file gets from flax.optim, be it through others, and what they are."""
        if document not in self._old:
            self._old[document] = {}  # so that circles end
            # Of several, the last one decides what a name is.
            stars = walk_of(document).scopes[document.tree].bindings.get("*", [])
            module = surface.as_of_old(stars[-1].full_name) if stars else ""
            if surface.is_of_flax_optim(module):
                self._old[document] = surface.in_star(module)
            else:
                passed_on = [*map(self.of_flax_optim, self._taken(document))]
                self._old[document] = passed_on[-1] if passed_on else {}
        return self._old[document]

    def given(self, document: Document) -> list[str]:
        """The names that a file gives, where there is no ``__all__``."""
        bound = walk_of(document).scopes[document.tree].bindings
        names = (each for each in bound if not each.startswith(("_", "*")))
        return sorted({*names, *self.brought(document)})

    def _taken(self, document: Document) -> Iterator[Document]:
        modules = self._modules[document]
        for node, scope in walk_of(document).imports:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and not scope.parent:
                module = modules.get("." * node.level + (node.module or ""))
                if module is not None:
                    yield module

"""Which files of a program can run in one process, so that one may be given what another makes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import in_one_tree
from flaxoptim_compat.migrate.program.mentions import RUNS_OTHERS

_Files = Mapping[Document, Collection[Document]]
# Who runs files by their names may run any of its tree, and who runs text any that imports connect.
_RUNS_OTHERS = re.compile(RUNS_OTHERS)
_RUNS_TEXT = re.compile(r"\bexec\b")


class Processes:
    """What imports tell of that.

    Two files are together in a process if one of them, or a third file, imports both, however far.
    Two scripts that import the same helpers are not.

    Args:
      imported: for each file the files that it imports, by the names in its imports.
    """

    def __init__(self, imported: Mapping[Document, Mapping[str, Document]]) -> None:
        self._imports: dict[Document, set[Document]] = {
            document: {*modules.values()} for document, modules in imported.items()
        }
        self.connected = _connected(self._imports)
        self._add_what_no_import_names()
        self._together: dict[Document, frozenset[Document]] = {}
        self._sets: dict[frozenset[Document], frozenset[Document]] = {}
        self._importers: dict[Document, set[Document]] = {each: set() for each in imported}
        for document, others in self._imports.items():
            for each in others:
                self._importers[each].add(document)

    def _add_what_no_import_names(self) -> None:
        packages = {each.module: each for each in self._imports if each.is_package}
        fixtures = [each for each in self._imports if each.path.name == "conftest.py"]
        for document, others in self._imports.items():
            by_name = bool(_RUNS_OTHERS.search(document.text))
            if by_name or _RUNS_TEXT.search(document.text):
                number = self.connected[document]
                others |= {
                    each
                    for each in self._imports
                    if self.connected[each] == number
                    or (by_name and in_one_tree(document.module, each.module))
                }
            # Whoever imports a file runs the packages around it.
            around = document.module
            while around := around.rpartition(".")[0]:
                if around in packages:
                    others.add(packages[around])
            # What pytest gives to a test comes from the folders above.
            others |= {each for each in fixtures if each.path.parent in document.path.parents}

    def together_with(self, document: Document) -> frozenset[Document]:
        """The files that can run in one process with this one, which is among them."""
        found = self._together.get(document)
        if found is None:
            found = _reached(_reached([document], self._importers), self._imports)
            # Of many files it is the same set, and is kept once.
            found = self._sets.setdefault(found, found)
            self._together[document] = found
        return found


def _reached(start: Collection[Document], along: _Files) -> frozenset[Document]:
    seen = {*start}
    waiting = [*start]
    while waiting:
        new = {*along[waiting.pop()]} - seen
        seen |= new
        waiting += new
    return frozenset(seen)


def _connected(imports: _Files) -> Mapping[Document, int]:
    """A number for each file, the same for those that imports connect, however far."""
    neighbours: dict[Document, set[Document]] = {each: {*imports[each]} for each in imports}
    for document, others in imports.items():
        for each in others:
            neighbours[each].add(document)
    numbers: dict[Document, int] = {}
    for number, document in enumerate(imports):
        if document not in numbers:
            numbers.update(dict.fromkeys(_reached([document], neighbours), number))
    return numbers

"""The files of a program that belong together: by what they import, or in one process.

In one process, one file may be given what another one makes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import in_one_tree, meant, package_of
from flaxoptim_compat.migrate.program.loading import FoundFile
from flaxoptim_compat.migrate.program.mentions import RUNS_OTHERS, Mentions, has_word

Node = TypeVar("Node")

# Of more files, only those are read together that may have to do with optimizers.
_MOST_TOGETHER = 1_000


class ProgramFile(NamedTuple):
    """One file of the program, with what is known of it so far.

    Args:
      file: where it is.
      mentions: what it may have to do with.
      words: those of its words, as bytes, that modules of the program are called.
      imports: the names in its import statements; None: it was not parsed.
    """

    file: FoundFile
    mentions: Mentions = Mentions()
    words: frozenset[bytes] = frozenset()
    imports: Collection[str] | None = None


class Links:
    """The files that are to be read together: those that imports connect.

    A file that names nothing in question is parsed only if it stands between others: if a file with
    optimizers imports it, whose functions may be given one, or if it imports such a file, which may
    give it one. Both are meant however far.

    Args:
      files: all files.
      imports_of: parses the file of a number, and says what its import statements name.
    """

    def __init__(
        self, files: Sequence[ProgramFile], imports_of: Callable[[int], Collection[str]]
    ) -> None:
        self._files = files
        self._imports_of = imports_of
        self._named: dict[str, set[int]] = {}
        for number, program_file in enumerate(files):
            self._named.setdefault(program_file.file.module, set()).add(number)
        self._fixtures = {n for n, each in enumerate(files) if each.file.path.stem == "conftest"}
        self._with_optimizers = {n for n, each in enumerate(files) if each.mentions.optimizers}
        # What each parsed file imports.
        self._imported: dict[int, set[int]] = {}
        for number, program_file in enumerate(files):
            if program_file.imports is not None:
                self._look(number, program_file.imports)
        self.near = self._reached() | self._reaching()

    def groups(self) -> list[list[int]]:
        """All files that are to be read, those together in one list that imports connect."""
        named = {n for n, each in enumerate(self._files) if each.imports is not None}
        along: dict[int, set[int]] = {each: set() for each in named | self.near}
        for number, others in [*self._imported.items(), *self._meeting_in_checkpoints().items()]:
            if number in along:
                along[number] |= others & along.keys()
        found: list[list[int]] = []
        for group in _components(along):
            alone = group - self.near if len(group) > _MOST_TOGETHER else frozenset()
            found += [[each] for each in alone]
            found.append(sorted(group - alone))
        return sorted(filter(None, found))

    def _look(self, number: int, names: Collection[str]) -> set[int]:
        """Note what a file imports."""
        file, mentions = self._files[number][:2]
        found = self._fixtures_above(number)
        for name in names:
            full = meant(name, file.module, file.is_package, self._named)
            found |= self._named[full] if full is not None else set()
        if mentions.others:
            found |= {
                each
                for each in self._with_optimizers
                if in_one_tree(file.module, self._files[each].file.module)
            }
        self._imported[number] = found - {number}
        return self._imported[number]

    def _imports(self, number: int) -> set[int]:
        found = self._imported.get(number)
        return self._look(number, self._imports_of(number)) if found is None else found

    def _reached(self) -> set[int]:
        """The files with optimizers, and what they import."""
        waiting = sorted(self._with_optimizers)
        seen = {*waiting}
        for number in waiting:
            new = self._imports(number) - seen
            seen |= new
            waiting += sorted(new)
        return seen

    def _reaching(self) -> set[int]:
        """The files with optimizers, and what imports them."""
        seen = {*self._with_optimizers}
        new = seen
        while new:
            modules = {self._files[each].file.module for each in new}
            words = {os.fsencode(each.rpartition(".")[2]) for each in modules}
            new = {
                number
                for number in range(len(self._files))
                if number not in seen
                and (number in self._imported or self._may_import(number, modules, words))
                and not self._imports(number).isdisjoint(seen)
            }
            seen |= new
        return seen

    def _may_import(self, number: int, modules: set[str], words: set[bytes]) -> bool:
        """True if a file that was not parsed may import one of these modules, as its words tell."""
        file, mentions, its_words, _ = self._files[number]
        package = package_of(file.module, file.is_package)
        around = {package.rsplit(".", count)[0] for count in range(package.count(".") + 1)}
        return (
            mentions.others
            or not words.isdisjoint(its_words)
            or not modules.isdisjoint(around)
            or bool(self._fixtures_above(number))
        )

    def _fixtures_above(self, number: int) -> set[int]:
        """The numbers of the ``conftest.py`` above a file, whose fixtures pytest gives to tests."""
        path = self._files[number].file.path
        return {n for n in self._fixtures if self._files[n].file.path.parent in path.parents}

    def _meeting_in_checkpoints(self) -> dict[int, set[int]]:
        """The files of a folder of which one may restore what another one saves."""
        found: dict[int, set[int]] = {}
        last: dict[Path, int] = {}
        for number in sorted(self._with_optimizers):
            program_file = self._files[number]
            if program_file.mentions.checkpoints:
                found[number] = {last.get(program_file.file.path.parent, number)}
                last[program_file.file.path.parent] = number
        return found


# Who runs files by their names may run any of its tree, and who runs text any that imports connect.
_RUNS_TEXT = ("exec",)


class Processes:
    """The files that can run in one process, as far as imports tell.

    Two files are together in a process if one of them, or a third file, imports both, however far.
    Two scripts that import the same helpers are not.

    Args:
      imported: for each file the files that it imports, by the names in its imports.
    """

    def __init__(self, imported: Mapping[Document, Mapping[str, Document]]) -> None:
        self._imports: dict[Document, set[Document]] = {
            document: {*modules.values()} for document, modules in imported.items()
        }
        # A number for each file, the same for those that imports connect, however far.
        self.connected = {
            each: number
            for number, group in enumerate(_components(self._imports))
            for each in group
        }
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
            source = document.text.encode(errors="replace")
            by_name = has_word(RUNS_OTHERS, source)
            if by_name or has_word(_RUNS_TEXT, source):
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


def _reached(start: Collection[Node], along: Mapping[Node, Collection[Node]]) -> frozenset[Node]:
    seen = {*start}
    waiting = [*start]
    while waiting:
        new = {*along[waiting.pop()]} - seen
        seen |= new
        waiting += new
    return frozenset(seen)


def _components(along: Mapping[Node, Collection[Node]]) -> Iterator[frozenset[Node]]:
    """The groups of nodes that are connected, however far and in whichever direction."""
    neighbours: dict[Node, set[Node]] = {each: {*others} for each, others in along.items()}
    for node, others in along.items():
        for each in others:
            neighbours[each].add(node)
    seen: set[Node] = set()
    for node in neighbours:
        if node not in seen:
            group = _reached([node], neighbours)
            seen |= group
            yield group

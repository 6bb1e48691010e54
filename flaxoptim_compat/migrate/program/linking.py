"""The files of a program that belong together: by what they import, or in one process.

In one process, one file may be given what another one makes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import in_one_tree, meant
from flaxoptim_compat.migrate.program.loading import FoundFile
from flaxoptim_compat.migrate.program.mentions import RUNS_OTHERS, Mentions, has_word

Node = TypeVar("Node")

# In larger groups, only files that may have to do with optimizers are read together.
_MOST_TOGETHER = 1_000


class ProgramFile(NamedTuple):
    """One file of the program, with its mentions and imports.

    Args:
      file: the file.
      mentions: flags for what the file may have to do with.
      imports: the names in its import statements.
      is_parsed: whether the file was parsed, since it may name what is gone.
      names_flax_optim: whether the file names flax.optim, or what serves it.
    """

    file: FoundFile
    mentions: Mentions = Mentions()
    imports: Collection[str] = ()
    is_parsed: bool = False
    names_flax_optim: bool = False


class Links:
    """The files that are to be read together, since imports connect them.

    A file that names nothing that is gone is read if it may get an optimizer: it imports a file
    with optimizers, directly or through other files, or such a file or its importers import it.

    Args:
      files: all files.
    """

    def __init__(self, files: Sequence[ProgramFile]) -> None:
        self._files = files
        self._named: dict[str, set[int]] = {}
        for number, program_file in enumerate(files):
            self._named.setdefault(program_file.file.module, set()).add(number)
        self._fixtures = {n for n, each in enumerate(files) if each.file.path.stem == "conftest"}
        self._with_optimizers = {n for n, each in enumerate(files) if each.mentions.optimizers}
        self._imported = {number: self._imports_of(number) for number, _ in enumerate(files)}
        importers: dict[int, set[int]] = {number: set() for number in self._imported}
        for number, imported in self._imported.items():
            for each in imported:
                importers[each].add(number)
        # What runs in a process with a file that has optimizers.
        self.near = _reached(_reached(self._with_optimizers, importers), self._imported)

    def groups(self) -> list[list[int]]:
        """The groups of files that are to be read together."""
        parsed = {n for n, each in enumerate(self._files) if each.is_parsed}
        along: dict[int, set[int]] = {each: set() for each in parsed | self.near}
        for number, others in [*self._imported.items(), *self._meeting_in_checkpoints().items()]:
            if number in along:
                along[number] |= others & along.keys()
        groups: list[list[int]] = []
        for group in components(along):
            alone = group - self.near if len(group) > _MOST_TOGETHER else frozenset()
            groups += [[each] for each in alone]
            groups.append(sorted(group - alone))
        return sorted(filter(None, groups))

    def _imports_of(self, number: int) -> set[int]:
        """The files that a file imports or runs."""
        file, mentions, names, *_ = self._files[number]
        imported = self._fixtures_above(number)
        for name in names:
            full = meant(name, file.module, file.is_package, self._named)
            imported |= self._named[full] if full is not None else set()
        if mentions.others:
            imported |= {
                each for each in self._with_optimizers if in_one_tree(file, self._files[each].file)
            }
        return imported - {number}

    def _fixtures_above(self, number: int) -> set[int]:
        """The numbers of the ``conftest.py`` above a file, whose fixtures pytest gives to tests."""
        path = self._files[number].file.path
        return {n for n in self._fixtures if self._files[n].file.path.parent in path.parents}

    def _meeting_in_checkpoints(self) -> dict[int, set[int]]:
        """The files of a folder of which one may restore what another one saves."""
        meeting: dict[int, set[int]] = {}
        last: dict[Path, int] = {}
        for number in sorted(self._with_optimizers):
            program_file = self._files[number]
            if program_file.mentions.checkpoints:
                meeting[number] = {last.get(program_file.file.path.parent, number)}
                last[program_file.file.path.parent] = number
        return meeting


# A file that runs others by their names may run any file of its tree; a file that runs text may run
# any file that imports connect.
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
            each: number for number, group in enumerate(components(self._imports)) for each in group
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
                    if self.connected[each] == number or (by_name and in_one_tree(document, each))
                }
            # An import of a file runs the packages around it.
            around = document.module
            while around := around.rpartition(".")[0]:
                if around in packages:
                    others.add(packages[around])
            # pytest gives a test the fixtures of the folders above.
            others |= {each for each in fixtures if each.path.parent in document.path.parents}

    def together_with(self, document: Document) -> frozenset[Document]:
        """The files that can run in one process with a file, which is among them."""
        together = self._together.get(document)
        if together is None:
            together = _reached(_reached([document], self._importers), self._imports)
            # Many files have the same set, which is kept once.
            together = self._sets.setdefault(together, together)
            self._together[document] = together
        return together


def _reached(start: Collection[Node], along: Mapping[Node, Collection[Node]]) -> frozenset[Node]:
    seen = {*start}
    waiting = [*start]
    while waiting:
        new = {*along[waiting.pop()]} - seen
        seen |= new
        waiting += new
    return frozenset(seen)


def components(along: Mapping[Node, Collection[Node]]) -> Iterator[frozenset[Node]]:
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

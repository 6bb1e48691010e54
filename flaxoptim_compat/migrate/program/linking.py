"""Which files of a program belong together: by the names that they take, or in one process.

Names are told from the text of import statements, since most files need not be parsed. In one
process, one file may be given what another one makes.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import in_one_tree, joined, meant
from flaxoptim_compat.migrate.program.mentions import RUNS_OTHERS, Mentions

# In a notebook, lines start with a quotation mark.
_START = rb'(?:^|[:;])[ \t"]*'
_FROM = re.compile(
    _START + rb"from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n;]*)", re.MULTILINE
)
_IMPORT = re.compile(_START + rb"import[ \t]+([^\n;]*)", re.MULTILINE)
_NAME = re.compile(rb"([\w.]+|\*)(?:[ \t\n\\]+as[ \t\n\\]+(\w+))?")
_ATTRIBUTE = re.compile(rb"\.\s*(\w+)")
_OLD = ("flax", "jax", "jaxlib", "numpy")
# Beyond as many files, what they import in turn is not read for the sake of optimizers.
_MOST_FOLLOWED = 1_000


class Imported(NamedTuple):
    """One name of an import statement.

    Args:
      origin: the module, dots of a relative import before it; "" for a plain import.
      name: what is imported, ``*`` for all.
      local: what the file calls it.
    """

    origin: str
    name: str
    local: str


def imports_in(source: bytes) -> tuple[Imported, ...]:
    """What the import statements of a file name, whatever they stand in.

    Args:
      source: the content of the file.
    """
    if b"import" not in source:
        return ()
    source = source.replace(b"\\\n", b" ")
    found = []
    for match in _FROM.finditer(source):
        for name, local in _names(match[2]):
            found.append(Imported(match[1].decode(), name, local))
    for match in _IMPORT.finditer(source):
        found += [Imported("", name, local) for name, local in _names(match[1])]
    return tuple(dict.fromkeys(found))


def attributes_in(source: bytes) -> set[str]:
    """All that stands behind a dot in a file."""
    return {each.decode("latin-1") for each in _ATTRIBUTE.findall(source)}


def old_exports(exported: Mapping[str, str]) -> frozenset[str]:
    """Those names of a module that other files may import from it and that may be gone.

    Args:
      exported: its names, and what they are.
    """
    return frozenset(name for name, full in exported.items() if full.partition(".")[0] in _OLD)


class Module(NamedTuple):
    """One file of the program, as far as names go from one to another.

    Args:
      name: its dotted name.
      is_package: whether it is the ``__init__.py`` of that.
      imports: what it imports.
      exports: the names of its own that may be gone.
      mentions: what it may have to do with. What has to do with optimizers counts with all that is
        imported from it.
      folder: where it is.
    """

    name: str
    is_package: bool
    imports: Sequence[Imported]
    exports: frozenset[str]
    mentions: Mentions
    folder: Path


class Links:
    """Which files are to be read together.

    Args:
      modules: all files.
      attributes: what stands behind dots in the file of a number.
    """

    def __init__(
        self, modules: Sequence[Module], attributes: Callable[[int], Iterable[str]]
    ) -> None:
        self._modules = modules
        self._attributes_of = attributes
        self._attributes: dict[int, frozenset[str]] = {}
        self._named: dict[str, set[int]] = {}
        for number, module in enumerate(modules):
            self._named.setdefault(module.name, set()).add(number)
        # {number and name: the files that import it, and what they call it}
        self._takers: dict[tuple[int, str], list[tuple[int, str]]] = {}
        # {number: the files that have the module itself, and what they call it}
        self._holders: collections.defaultdict[int, set[tuple[int, str]]]
        self._holders = collections.defaultdict(set)
        self._neighbours: collections.defaultdict[int, set[int]] = collections.defaultdict(set)
        self._imported: collections.defaultdict[int, set[int]] = collections.defaultdict(set)
        self.linked = {each for each, module in enumerate(modules) if module.mentions.optimizers}
        for number, module in enumerate(modules):
            for each in module.imports:
                self._read(number, module, each)
            if module.name.rpartition(".")[2] == "conftest":
                for other in self._below(module.folder) - {number}:
                    self._connect(other, {number})
            if module.mentions.others:
                self._connect(number, self._may_run(module) - {number})
        self._follow()
        self._follow_imports()
        self._follow_importers()
        self._meet_in_checkpoints()

    def groups(self) -> list[list[int]]:
        """The files that are to be read together, apart from those they have nothing to do with."""
        seen: set[int] = set()
        found = []
        for number in sorted(self.linked):
            group = []
            waiting = [number]
            while waiting:
                each = waiting.pop()
                if each in self.linked and each not in seen:
                    seen.add(each)
                    group.append(each)
                    waiting += self._neighbours[each]
            if group:
                found.append(sorted(group))
        return found

    def _read(self, number: int, module: Module, imported: Imported) -> None:
        name = imported.name
        if imported.origin:
            name = joined(imported.origin, imported.name)
            for source in self._meant(imported.origin, number, module):
                taker = (number, imported.local)
                self._takers.setdefault((source, imported.name), []).append(taker)
        for source in self._meant(name, number, module):
            self._holders[source].add((number, imported.local))
        # An `import a.b.c` runs a and a.b as well.
        around = "" if imported.origin else name.rpartition(".")[0]
        while around:
            self._connect(number, self._files(around, number, module))
            around = around.rpartition(".")[0]

    def _meant(self, name: str, number: int, module: Module) -> set[int]:
        """The files that an import means; what they do with optimizers matters where it stands."""
        found = self._files(name, number, module)
        self._connect(number, found)
        if any(self._modules[each].mentions.optimizers for each in found):
            self.linked.add(number)
        return found

    def _below(self, folder: Path) -> set[int]:
        """The files in a folder and those below it."""
        return {
            number
            for number, each in enumerate(self._modules)
            if each.folder == folder or folder in each.folder.parents
        }

    def _may_run(self, module: Module) -> set[int]:
        """The files with optimizers that one may run by a name which is computed."""
        return {
            number
            for number, each in enumerate(self._modules)
            if each.mentions.optimizers and in_one_tree(module.name, each.name)
        }

    def _files(self, name: str, number: int, module: Module) -> set[int]:
        full = meant(name, module.name, module.is_package, self._named)
        return self._named[full] - {number} if full is not None else set()

    def _follow_imports(self) -> None:
        """Add what files with optimizers import, and so on: their functions may be given one."""
        level = {each for each in self.linked if self._modules[each].mentions.optimizers}
        seen = set(level)
        while level and len(seen) < _MOST_FOLLOWED:
            level = {other for each in level for other in self._imported[each]} - seen
            seen |= level
        self.linked |= seen

    def _follow_importers(self) -> None:
        """Add what imports files with optimizers, however far: it may get one from any of them."""
        importers: collections.defaultdict[int, set[int]] = collections.defaultdict(set)
        for number, imported in self._imported.items():
            for each in imported:
                importers[each].add(number)
        waiting = [each for each in self.linked if self._modules[each].mentions.optimizers]
        seen = {*waiting}
        for each in waiting:
            new = importers[each] - seen
            seen |= new
            waiting += new
        self.linked |= seen

    def _meet_in_checkpoints(self) -> None:
        """Connect the files of a folder of which one may restore what another one saves."""
        last: dict[Path, int] = {}
        for number, module in enumerate(self._modules):
            if module.mentions.checkpoints and module.mentions.optimizers:
                other = last.setdefault(module.folder, number)
                self._neighbours[number].add(other)
                self._neighbours[other].add(number)
                last[module.folder] = number

    def _connect(self, number: int, others: set[int]) -> None:
        self._imported[number] |= others
        self._neighbours[number] |= others
        for each in others:
            self._neighbours[each].add(number)

    def _follow(self) -> None:
        """Follow each name from file to file."""
        passed = {
            (each, name) for each, module in enumerate(self._modules) for name in module.exports
        }
        waiting = collections.deque(passed)
        while waiting:
            source, name = waiting.popleft()
            takers = [
                *self._takers.get((source, name), ()),
                *((number, name) for number, _ in self._takers.get((source, "*"), ())),
                *(each for each in self._holders[source] if name in self._behind_dots(each[0])),
            ]
            self.linked |= {number for number, _ in takers}
            if takers:
                self.linked.add(source)
            # Who has the module may be asked for it, whether it uses the name itself or not.
            new = {*takers, *self._holders[source]} - passed
            passed |= new
            waiting += new

    def _behind_dots(self, number: int) -> frozenset[str]:
        if number not in self._attributes:
            self._attributes[number] = frozenset(self._attributes_of(number))
        return self._attributes[number]


def _names(text: bytes) -> list[tuple[str, str]]:
    """The names of an import statement, and what they are called."""
    text = text.partition(b"#")[0] if not text.startswith(b"(") else re.sub(rb"#.*", b"", text)
    found = []
    for name, alias in _NAME.findall(text):
        plain = name.decode("latin-1")
        found.append((plain, alias.decode("latin-1") or plain.rpartition(".")[2]))
    return found


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

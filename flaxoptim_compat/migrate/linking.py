"""Which files of a program take names that may be gone from other files of it.

This is told from the text of import statements, since most files need not be parsed.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

# In a notebook, lines start with a quotation mark.
_FROM = re.compile(rb'^[ \t"]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)', re.MULTILINE)
_IMPORT = re.compile(rb'^[ \t"]*import[ \t]+([^\n]*)', re.MULTILINE)
_NAME = re.compile(rb"([\w.]+|\*)(?:[ \t\n\\]+as[ \t\n\\]+(\w+))?")
_ATTRIBUTE = re.compile(rb"\.\s*(\w+)")
_OLD = ("flax", "jax", "jaxlib", "numpy")


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
      has_optimizers: whether all that is imported from it counts.
    """

    name: str
    is_package: bool
    imports: Sequence[Imported]
    exports: frozenset[str]
    has_optimizers: bool


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
            parts = module.name.split(".")
            # Absolute imports may start at any folder.
            for start in range(len(parts)):
                self._named.setdefault(".".join(parts[start:]), set()).add(number)
        # {number and name: the files that import it, and what they call it}
        self._takers: dict[tuple[int, str], list[tuple[int, str]]] = {}
        # {number: the files that have the module itself, and what they call it}
        self._holders: collections.defaultdict[int, set[tuple[int, str]]]
        self._holders = collections.defaultdict(set)
        self.linked = {each for each, module in enumerate(modules) if module.has_optimizers}
        for number, module in enumerate(modules):
            for each in module.imports:
                self._read(number, module, each)
        self._follow()

    def _read(self, number: int, module: Module, imported: Imported) -> None:
        origin = _absolute(module, imported.origin)
        for source in self._named.get(origin, set()) - {number} if imported.origin else ():
            taker = (number, imported.local)
            self._takers.setdefault((source, imported.name), []).append(taker)
            if self._modules[source].has_optimizers:
                self.linked.add(number)
        name = ".".join(filter(None, (origin, imported.name)))
        for source in self._named.get(name, set()) - {number}:
            self._holders[source].add((number, imported.local))
            if self._modules[source].has_optimizers:
                self.linked.add(number)

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


def _absolute(module: Module, origin: str) -> str:
    """The dotted name of what an import statement imports from."""
    name = origin.lstrip(".")
    dots = len(origin) - len(name)
    if not dots:
        return name
    parts = module.name.split(".")
    folders = parts[: len(parts) - dots + module.is_package]
    return ".".join([*folders, *filter(None, [name])])


def _names(text: bytes) -> list[tuple[str, str]]:
    """The names of an import statement, and what they are called."""
    text = text.partition(b"#")[0] if not text.startswith(b"(") else re.sub(rb"#.*", b"", text)
    found = []
    for name, alias in _NAME.findall(text):
        plain = name.decode("latin-1")
        found.append((plain, alias.decode("latin-1") or plain.rpartition(".")[2]))
    return found

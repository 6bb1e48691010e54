"""The meanings of names in a scope, in their file or through other files of the project."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from flaxoptim_compat.migrate.names import surface
from flaxoptim_compat.migrate.names.dotted import taken_apart
from flaxoptim_compat.migrate.names.scopes import Binding, Scope
from flaxoptim_compat.migrate.names.walk import walk_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import meant


class Exports:
    """The names that the files of a project pass on to each other.

    Args:
      modules: the dotted names of the files.
      of: for each file the full names of imported objects, by the names that the file binds.
    """

    def __init__(self, modules: Collection[str], of: Mapping[str, Mapping[str, str]]) -> None:
        self.modules = modules
        self.of = of
        # An import of a file can start with any folder of its path.
        self.starts = frozenset(part for module in modules for part in module.split("."))


NO_EXPORTS = Exports((), {})


class Project:
    """The names that one file can take from the other files of its project.

    Args:
      document: the file that imports.
      exports: the names that the other files pass on.
    """

    def __init__(self, document: Document, exports: Exports) -> None:
        self._document = document
        self._exports = exports
        self._files: dict[str, str | None] = {}
        # (module, name) for each name that the file takes from another file.
        self.taken: set[tuple[str, str]] = set()

    def is_own(self, name: str) -> bool:
        """True if a name that looks like one of Flax belongs to a file of the project."""
        return self._has_flax and name.partition(".")[0] == "flax"

    def through(self, name: str) -> str:
        """The full name behind the files of the project that pass a name on.

        ``mylib.opt.Adam`` becomes ``flax.optim.Adam`` if ``mylib/opt.py`` imports it from there.
        """
        seen: set[str] = set()
        # Files may import a name from each other in a circle, in which the name may get longer.
        while name not in seen and len(seen) < 20:
            seen.add(name)
            name = self._through_one(name) or name
        return name

    def in_star(self, module: str) -> dict[str, str]:
        """The full names of imported objects that ``import *`` takes from a file."""
        file = self._file(module)
        exported = self._exports.of[file] if file is not None else {}
        return {name: full for name, full in exported.items() if not name.startswith("_")}

    def take(self, module: str, name: str) -> None:
        """Note that the file uses a name that an ``import *`` took."""
        self.taken.add((self._file(module) or module, name))

    @functools.cached_property
    def _has_flax(self) -> bool:
        """True if the project has a copy of Flax in it, with a flax.optim of its own."""
        return any(self._file(each) is not None for each in ("flax", "flax.optim"))

    def _file(self, module: str) -> str | None:
        if module not in self._files:
            own = self._document
            self._files[module] = meant(module, own.module, own.is_package, self._exports.modules)
        return self._files[module]

    def _through_one(self, name: str) -> str | None:
        if name.partition(".")[0] not in self._exports.starts:
            return None
        parts = name.split(".")
        for length in range(len(parts) - 1, 0, -1):
            module = self._file(".".join(parts[:length]))
            full = None if module is None else self._exports.of[module].get(parts[length])
            if module is not None and full is not None:
                self.taken.add((module, parts[length]))
                return ".".join([full, *parts[length + 1 :]])
        return None


Way = Literal["import", "project", "variable"]


class Meaning(NamedTuple):
    """The meaning of a name, dotted or not: the module or object that it stands for.

    Args:
      name: the full name.
      alias: the import of the root of the name in the file, if an import binds it.
      way: by an ``import``, from another file of the ``project``, or through a ``variable`` of
        the file.
    """

    name: str
    alias: ast.alias | None
    way: Way


_OPTIM = re.compile(r"\b(\w+)\.optim\b")


class Exporter(Mapping[str, str]):
    """The meanings of the names of one file.

    As a mapping, the full names of outside objects, by the names that the file binds at its top. A
    meaning is worked out when it is asked for, which may ask other files.

    Args:
      document: the file.
      exports: the names that the other files of its project pass on.
    """

    def __init__(self, document: Document, exports: Exports = NO_EXPORTS) -> None:
        self.document = document
        self.project = Project(document, exports)
        self.walk = walk_of(document)
        # {a name: its scope}; the names in annotations in quotes come later.
        self.scopes = dict(self.walk.names)
        self._known: dict[tuple[Scope, str], Meaning | None] = {}
        self._top = self.walk.scopes[document.tree]
        self._of_stars: dict[str, str] | None = None

    def __getitem__(self, name: str) -> str:
        if name == "*":
            raise KeyError(name)
        if name not in self._top.bindings:
            return self._brought()[name]
        meaning = self.of(name, self._top)
        if meaning is None:
            raise KeyError(name)
        return meaning.name

    def __iter__(self) -> Iterator[str]:
        candidates = dict.fromkeys([*self._brought(), *self._top.bindings])
        return (name for name in candidates if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def may_mean(self, name: str) -> bool:
        """True if a name can stand for something from outside of the file."""
        return name in self.walk.meaningful or "*" in self.walk.meaningful

    def of_expression(self, node: ast.expr) -> Meaning | None:
        """The meaning of a dotted name; None if it is none, or not known."""
        parts = taken_apart(node)
        return None if parts is None else self.of_dotted(*parts)

    def of_dotted(self, root: ast.Name, path: tuple[str, ...]) -> Meaning | None:
        """The meaning of a root with attributes looked up on it."""
        if not self.may_mean(root.id) or root not in self.scopes:
            return None
        scope = self.scopes[root]
        home = scope.binder(root.id, (root.lineno, root.col_offset))
        meaning = self._of_star(root.id, scope) if home is None else self.of(root.id, home)
        if meaning is None or not path:
            return meaning
        meaning = meaning._replace(name=".".join([meaning.name, *path]))
        if meaning.alias is not None and home is not None:
            alias = _closest(home.bindings[root.id], meaning.name)
            meaning = meaning._replace(alias=alias)
        return self.outside(meaning)

    def outside(self, meaning: Meaning) -> Meaning:
        """The meaning behind the files of the project that pass a name on."""
        name = self.project.through(meaning.name)
        return meaning if name == meaning.name else Meaning(name, None, "project")

    def of(self, name: str, home: Scope) -> Meaning | None:
        """The meaning of a name in the scope that binds it."""
        key = (home, name)
        if key not in self._known:
            self._known[key] = None  # so that circles end
            self._known[key] = self._agreed(home.bindings[name])
        return self._known[key]

    def all_of(self, name: str, home: Scope) -> list[Meaning]:
        """The meanings that the bindings of a name have one by one."""
        meanings = map(self._of_binding, home.bindings[name])
        return [each for each in meanings if each is not None]

    def names_flax_optim(self) -> bool:
        """True if the file names flax.optim, or what serves it; only some names are looked up."""
        meanings = (
            self.of_dotted(each.root, each.path)
            for each in self.walk.dotted_names
            if "optim" in each.path
        )
        return (
            any(self._is_old(self.project.through(name)) for name in self.walk.imported.values())
            or any(each is not None and self._is_old(each.name) for each in meanings)
            or any(map(self._looks_up_optim, self.walk.lookups))
            or any(self._is_old(f"{root}.optim") for root in self._roots_in_quotes())
        )

    def _is_old(self, name: str) -> bool:
        return surface.is_of_flax_optim(surface.as_of_old(name)) and not self.project.is_own(name)

    def _looks_up_optim(self, node: ast.Call) -> bool:
        if "flax.optim" in self.document.source(node):
            return True
        base = self.of_expression(node.args[0]) if len(node.args) > 1 else None
        return base is not None and self._is_old(
            f"{base.name}.{getattr(node.args[1], 'value', '')}"
        )

    def _roots_in_quotes(self) -> Iterator[str]:
        """The full names before ``.optim`` in annotations that are in quotes."""
        for node, scope in self.walk.annotations:
            for name in _OPTIM.findall(str(node.value)):
                home = scope.binder(name, (node.lineno, node.col_offset))
                meaning = None if home is None else self.of(name, home)
                if meaning is not None:
                    yield meaning.name

    def _brought(self) -> Mapping[str, str]:
        """The known names that each ``import *`` of the file brings, and that it passes on."""
        if self._of_stars is None:
            self._of_stars = {}  # so that circles end
            names: dict[str, str] = {}
            for each in self._top.bindings.get("*", ()):
                brought = self._in_star(each.full_name)
                if not surface.is_of_flax_optim(each.full_name):
                    for name in brought:
                        self.project.take(each.full_name, name)
                names.update(brought)
            self._of_stars = names
        return self._of_stars

    def _agreed(self, bindings: Iterable[Binding]) -> Meaning | None:
        """The meaning of a name on which all its bindings agree; None if they do not."""
        meanings = []
        for each in bindings:
            meaning = self._of_binding(each)
            if meaning is not None:
                meanings.append(meaning)
            elif each.kind != "nothing":
                return None
        # A program may try flax.optim first, and fall back to flaxoptim_compat.
        if len({surface.as_of_old(each.name) for each in meanings}) != 1:
            return None
        return next((each for each in meanings if surface.is_of_flax_optim(each.name)), meanings[0])

    def _of_binding(self, binding: Binding) -> Meaning | None:
        if binding.kind == "import":
            if self.project.is_own(binding.full_name):
                return None
            return self.outside(Meaning(binding.full_name, binding.alias, "import"))
        if binding.value is not None:
            meaning = self.of_expression(binding.value)
            return None if meaning is None else Meaning(meaning.name, None, "variable")
        return None

    def _of_star(self, name: str, scope: Scope) -> Meaning | None:
        stars = scope.module.bindings.get("*", [])
        # A later `import *` may have replaced names of an earlier one.
        full = self._in_star(stars[-1].full_name).get(name) if stars else None
        if full is None:
            return None
        if surface.is_of_flax_optim(stars[-1].full_name):
            return Meaning(full, stars[-1].alias, "import")
        self.project.take(stars[-1].full_name, name)
        return Meaning(full, None, "project")

    def _in_star(self, module: str) -> dict[str, str]:
        if surface.is_of_flax_optim(module) and not self.project.is_own(module):
            return surface.in_star(module)
        return self.project.in_star(module)


def _closest(bindings: Iterable[Binding], name: str) -> ast.alias | None:
    """The import of the longest module that a name is in, among imports that bind one root."""
    imports = [(each, each.alias) for each in bindings if each.alias is not None]
    around = [
        alias
        for each, alias in imports
        if each.kind != "import" or f"{name}.".startswith(f"{_loaded(each, alias)}.")
    ]
    return max(around, key=lambda alias: len(alias.name), default=imports[0][1])


def _loaded(binding: Binding, alias: ast.alias) -> str:
    """The module or object of an import: `import flax.optim` binds flax, and loads the module."""
    return binding.full_name if alias.asname else max(binding.full_name, alias.name, key=len)


def exporters(documents: Sequence[Document]) -> dict[Document, Exporter]:
    """The exporters of the files of a project, which can ask each other.

    Args:
      documents: the files.
    """
    by_module: dict[str, Exporter] = {}
    exports = Exports(frozenset(each.module for each in documents if each.module), by_module)
    by_document = {each: Exporter(each, exports) for each in documents}
    by_module.update({doc.module: exporter for doc, exporter in by_document.items() if doc.module})
    return by_document

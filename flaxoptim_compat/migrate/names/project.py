"""The other files of a project, through which names can come into one."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.program.modules import meant


class Exports:
    """What the files of a project pass on to each other.

    Args:
      modules: their dotted names.
      of: for each the full names of what it took from elsewhere, by the names it has them under.
    """

    def __init__(self, modules: Collection[str], of: Mapping[str, Mapping[str, str]]) -> None:
        self.modules = modules
        self.of = of
        # What an import of one of these can start with: any folder of its path.
        self.starts = frozenset(part for module in modules for part in module.split("."))


NO_EXPORTS = Exports((), {})


class Project:
    """What one file can take from the others.

    Args:
      document: the file that imports.
      exports: what the others pass on.
    """

    def __init__(self, document: Document, exports: Exports) -> None:
        self._document = document
        self._exports = exports
        self._files: dict[str, str | None] = {}
        # (module, name) of all that the file takes from others.
        self.taken: set[tuple[str, str]] = set()

    def is_own(self, name: str) -> bool:
        """Whether a name that looks like one of Flax is that of a file of the project."""
        return self._has_flax and name.partition(".")[0] == "flax"

    def through(self, name: str) -> str:
        """A full name with the files of the project looked through.

        ``mylib.opt.Adam`` becomes ``flax.optim.Adam`` if ``mylib/opt.py`` imports it from there.
        """
        seen: set[str] = set()
        # Files can import a name from each other in a circle, and it may get longer with each turn.
        while name not in seen and len(seen) < 20:
            seen.add(name)
            name = self._through_one(name) or name
        return name

    def in_star(self, module: str) -> dict[str, str]:
        """What ``import *`` takes from a file of the project, as far as that is from elsewhere."""
        file = self._file(module)
        exported = self._exports.of[file] if file is not None else {}
        return {name: full for name, full in exported.items() if not name.startswith("_")}

    def take(self, module: str, name: str) -> None:
        """Note that the file uses a name that an ``import *`` took."""
        self.taken.add((self._file(module) or module, name))

    @functools.cached_property
    def _has_flax(self) -> bool:
        """Whether the project carries a copy of Flax along, which has a flax.optim."""
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

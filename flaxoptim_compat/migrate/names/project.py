"""The other files of a project, through which names can come into one."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from flaxoptim_compat.migrate.document import Document


class Project:
    """What one file can take from the others.

    Args:
      document: the file that imports.
      exports: for the modules of the project the full names of what they took from elsewhere.
    """

    def __init__(self, document: Document, exports: Mapping[str, Mapping[str, str]]) -> None:
        self._exports = exports
        self._starts = _starts(tuple(exports))
        parts = document.module.split(".") if document.module else []
        self._package = parts if document.is_package else parts[:-1]
        own = (module for each in ("flax", "flax.optim") for module in self.candidates(each))
        # Some projects carry a copy of Flax along, which has a flax.optim.
        self._has_flax = any(module in exports for module in own)
        # (module, name) of all that the file takes from others.
        self.taken: set[tuple[str, str]] = set()

    @property
    def package(self) -> str | None:
        """Where relative imports start; None if it is not known."""
        return ".".join(self._package) or None

    def candidates(self, module: str) -> Iterator[str]:
        """The modules of the project that an import can mean, the first that there is counts.

        The folder of a script is on the path, and so is that of the project, or its ``src``.
        """
        for length in range(len(self._package), -1, -1):
            yield ".".join([*self._package[:length], module])
        yield f"src.{module}"

    def is_own(self, name: str) -> bool:
        """Whether a name that looks like one of Flax is that of a file of the project."""
        return self._has_flax and name.partition(".")[0] == "flax"

    def through(self, name: str) -> str:
        """A full name with the files of the project looked through.

        ``mylib.opt.Adam`` becomes ``flax.optim.Adam`` if ``mylib/opt.py`` imports it from there.
        """
        for _ in range(20):  # files can import a name from each other in a circle
            following = self._through_one(name)
            if following is None:
                return name
            name = following
        return name

    def in_star(self, module: str) -> dict[str, str]:
        """What ``import *`` takes from a file of the project, as far as that is from elsewhere."""
        exported = self._exports.get(self._file(module), {})
        return {name: full for name, full in exported.items() if not name.startswith("_")}

    def take(self, module: str, name: str) -> None:
        """Note that the file uses a name that an ``import *`` took."""
        self.taken.add((self._file(module), name))

    def _file(self, module: str) -> str:
        return next((each for each in self.candidates(module) if each in self._exports), module)

    def _through_one(self, name: str) -> str | None:
        if name.partition(".")[0] not in self._starts:
            return None
        parts = name.split(".")
        for length in range(len(parts) - 1, 0, -1):
            for module in self.candidates(".".join(parts[:length])):
                full = self._exports.get(module, {}).get(parts[length])
                if full is not None:
                    self.taken.add((module, parts[length]))
                    return ".".join([full, *parts[length + 1 :]])
        return None


@functools.lru_cache(maxsize=4)  # all files of a project ask with the same modules
def _starts(modules: tuple[str, ...]) -> frozenset[str]:
    """What an import of one of these can start with: any folder of its path."""
    return frozenset(part for module in modules for part in module.split("."))

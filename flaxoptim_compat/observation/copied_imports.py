"""Keeps the imports of a process in the copy of a folder, wherever they would find the original."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from flaxoptim_compat.observation.copied_folder import CopiedFolder

# What the finders of setuptools' editable installs read in their modules.
_OF_SETUPTOOLS = ("MAPPING", "NAMESPACES")
_NO_EDITABLE_INSTALL = ("_frozen_importlib", "_frozen_importlib_external", "flaxoptim_compat")


class CopiedImports:
    """Names the copy wherever Python would search the original for modules.

    Args:
      folder: the folder and its copy.
    """

    def __init__(self, folder: CopiedFolder) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}
        self._searched: list[Any] = []
        self._finders: list[Any] = []
        if os.environ.get("PYTHONPATH"):
            words = os.environ["PYTHONPATH"].split(os.pathsep)
            os.environ["PYTHONPATH"] = os.pathsep.join(map(self._mapped, words))

    def before_search(self, path: Any) -> None:
        """Name the copy in all that the search for a module reads.

        Args:
          path: the ``__path__`` of the package of the module; None for a module in no package.
        """
        if sys.path != self._searched:
            self._map(sys.path)
            self._searched = list(sys.path)
        if sys.meta_path != self._finders:
            for finder in sys.meta_path:
                self._map_finder(finder)
            self._finders = list(sys.meta_path)
        if path is not None:
            # A package in several folders keeps them in a list too, if they are found by sys.path.
            self._map(getattr(path, "_path", path))

    def _map_finder(self, finder: Any) -> None:
        """Map what an editable install has put into its finder, or into the module of that."""
        module = str(getattr(finder, "__module__", None))
        if module.partition(".")[0] in _NO_EDITABLE_INSTALL:
            return
        if not isinstance(finder, type):
            self._map(getattr(finder, "__dict__", None))
        for name in _OF_SETUPTOOLS:
            self._map(getattr(sys.modules.get(module), name, None))

    def _map(self, paths: Any) -> None:
        """Map the paths in a list, in a set, and in the values of a dictionary."""
        if isinstance(paths, list):
            for index, each in enumerate(paths):
                if each is not (mapped := self._mapped(each)):
                    paths[index] = mapped
        elif isinstance(paths, set):
            for each in list(paths):
                if each is not (mapped := self._mapped(each)):
                    paths.remove(each)
                    paths.add(mapped)
        elif isinstance(paths, dict):
            for key, each in list(paths.items()):
                if each is not (mapped := self._mapped(each)):
                    paths[key] = mapped
                self._map(each)

    def _mapped(self, path: Any) -> Any:
        if not isinstance(path, str) or not os.path.isabs(path):
            return path
        if path not in self._known:
            self._known[path] = self._folder.in_copy(path)
        return self._known[path]

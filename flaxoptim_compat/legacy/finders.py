"""The two places in Python's import system where legacy names come in.

``Watch`` is asked first, and calls back when a module that lost names has been imported.
``LastResort`` is asked last, and so only for modules that exist nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

from flaxoptim_compat.legacy.alias import AliasLoader
from flaxoptim_compat.legacy.entry import Entry, Registry
from flaxoptim_compat.legacy.names.gone_for_good import GONE

# {module that is still there, but not alone: what it imports, and how to install that}
_WRITTEN_WITH = {
    "flax.metrics.tensorboard": "TensorFlow and TensorBoard: pip install tensorflow tensorboard"
}


class Watch:
    """Calls a function after the import of modules that have lost names.

    Args:
      registry: what is served.
      modules: the names of those modules.
      after_import: takes such a module.
    """

    is_of_this_package = True

    def __init__(
        self,
        registry: Registry,
        modules: Container[str],
        after_import: Callable[[ModuleType], None],
    ) -> None:
        self.registry = registry
        self.modules = modules
        self.after_import = after_import

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders find, with a loader that calls back."""
        entry = self.registry.modules.get(name)
        if entry is not None and entry.is_broken():
            return _spec_of_alias(entry, self.registry)
        if name not in self.modules and name not in _WRITTEN_WITH:
            return None
        spec = find_elsewhere(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _CallsBack(spec.loader, self.after_import)  # type: ignore[assignment]
        return spec


class _CallsBack:
    """Loads as another loader does, then calls a function, and leaves no trace of itself."""

    def __init__(self, loader: Any, after_import: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.after_import = after_import

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        try:
            self.loader.exec_module(module)
        except ModuleNotFoundError as error:
            needed = _WRITTEN_WITH.get(module.__name__)
            if needed is None:
                raise
            message = f"{error}. {module.__name__} is written with {needed}"
            raise ModuleNotFoundError(message, name=error.name) from error
        self.after_import(module)


class LastResort:
    """Finds modules that are gone.

    Args:
      registry: what is served.
    """

    is_of_this_package = True

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The alias of a module that is gone; of one that is gone for good, what to do about it."""
        del path, target
        entry = self.registry.modules.get(name)
        if entry is not None:
            return _spec_of_alias(entry, self.registry)
        if name in GONE and name.partition(".")[0] in self.registry.attributes:
            raise ModuleNotFoundError(f"{name} is gone for good: {GONE[name]}.", name=name)
        return None


def _spec_of_alias(entry: Entry, registry: Registry) -> ModuleSpec | None:
    loader: Any = AliasLoader(entry, registry)
    # A package, so that Python asks for modules inside it.
    return spec_from_loader(entry.name, loader, origin=entry.served_by, is_package=True)


def find_elsewhere(
    name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
) -> ModuleSpec | None:
    """The spec that the finders find which are not this package's."""
    for finder in list(sys.meta_path):
        find_spec = getattr(finder, "find_spec", None)
        if find_spec is None or getattr(finder, "is_of_this_package", False):
            continue
        spec: ModuleSpec | None = find_spec(name, path, target)
        if spec is not None:
            return spec
    return None

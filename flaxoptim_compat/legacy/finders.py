"""The two finders in Python's import system that serve lost names.

Python asks ``Watch`` first. ``Watch`` calls a function after the import of a module with lost
names. Python asks ``LastResort`` last, and so only for modules that no other finder finds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

from flaxoptim_compat.legacy.alias import AliasLoader
from flaxoptim_compat.legacy.entry import LegacyName, Registry
from flaxoptim_compat.legacy.names.gone_for_good import GONE

# {existing module that imports other packages: these packages, and how to install them}
_WRITTEN_WITH = {
    "flax.metrics.tensorboard": "TensorFlow and TensorBoard: pip install tensorflow tensorboard"
}


class Watch:
    """The first finder, which calls a function after the import of modules with lost names.

    Args:
      registry: the served names.
      modules: the names of the modules with lost names.
      after_import: takes such a module, after its import.
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
        """The spec from the other finders, with a loader that calls ``after_import``."""
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
    """A loader that loads like another one, calls a function, and leaves no trace of itself."""

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
    """The last finder, which finds lost modules.

    Args:
      registry: the served names.
    """

    is_of_this_package = True

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the alias of a lost module; None for other modules.

        Raises:
          ModuleNotFoundError: the module is gone for good; the message says what to do.
        """
        del path, target
        entry = self.registry.modules.get(name)
        if entry is not None:
            return _spec_of_alias(entry, self.registry)
        if name in GONE and name.partition(".")[0] in self.registry.attributes:
            raise ModuleNotFoundError(f"{name} is gone for good: {GONE[name]}.", name=name)
        return None


def _spec_of_alias(entry: LegacyName, registry: Registry) -> ModuleSpec | None:
    loader: Any = AliasLoader(entry, registry)
    # As a package, so that Python also looks for modules inside.
    return spec_from_loader(entry.name, loader, origin=entry.served_by, is_package=True)


def find_elsewhere(
    name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
) -> ModuleSpec | None:
    """The spec from the finders of other packages; None if none of them finds the module."""
    for finder in list(sys.meta_path):
        find_spec = getattr(finder, "find_spec", None)
        if find_spec is None or getattr(finder, "is_of_this_package", False):
            continue
        spec: ModuleSpec | None = find_spec(name, path, target)
        if spec is not None:
            return spec
    return None

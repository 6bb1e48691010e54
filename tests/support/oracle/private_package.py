"""Load one release's ``flax/optim`` under a private name, beside whatever flax is installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import jax

_OLD_JAX_NAMES = {
    "tree_flatten": jax.tree_util.tree_flatten,
    "tree_leaves": jax.tree_util.tree_leaves,
    "tree_map": jax.tree_util.tree_map,
    "tree_multimap": jax.tree_util.tree_map,
    "tree_structure": jax.tree_util.tree_structure,
    "tree_unflatten": jax.tree_util.tree_unflatten,
}


class _JaxWithOldNames:
    """The installed jax plus the ``jax.tree_*`` names that old flax calls."""

    def __getattr__(self, name: str) -> Any:
        old = _OLD_JAX_NAMES.get(name)
        return getattr(jax, name) if old is None else old


class _MutedWarnings:
    """A stand-in for the ``warnings`` module that says nothing."""

    def warn(self, *args: Any, **kwargs: Any) -> None:
        """Ignore the warning."""


def load_private_package(
    name: str, directory: Path, companions: Mapping[str, ModuleType]
) -> ModuleType:
    """Load ``directory`` under a name of two parts, its sibling modules being ``companions``."""
    _install_parent(name.partition(".")[0], companions)
    # flax/optim/__init__.py adds a process-wide warnings filter; this undoes it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in _load_modules(name, directory):
            _rebind(module)
    return sys.modules[name]


def load_quiet_copy(module: ModuleType) -> ModuleType:
    """Load a second copy of an imported module, one that emits no warnings."""
    # A name inside the module's own package keeps its relative imports working.
    name = f"{module.__package__}._quiet_{module.__name__.rpartition('.')[2]}"
    assert module.__file__ is not None
    spec = importlib.util.spec_from_file_location(name, module.__file__)
    assert spec is not None and spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    sys.modules[name] = copy
    spec.loader.exec_module(copy)
    copy.warnings = _MutedWarnings()  # type: ignore[attr-defined]
    return copy


def _install_parent(package: str, companions: Mapping[str, ModuleType]) -> None:
    parent = ModuleType(package)
    parent.__path__ = []
    sys.modules[package] = parent
    for name, module in companions.items():
        sys.modules[f"{package}.{name}"] = module
        setattr(parent, name, module)


def _load_modules(name: str, directory: Path) -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location(
        name, directory / "__init__.py", submodule_search_locations=[str(directory)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    yield package
    for path in sorted(directory.glob("[!_]*.py")):
        yield importlib.import_module(f"{name}.{path.stem}")


def _rebind(module: ModuleType) -> None:
    # Only the old modules' own globals change: patching the real jax or the process's
    # warning filters would let the library under test profit from it unnoticed.
    if hasattr(module, "jax"):
        module.jax = _JaxWithOldNames()  # type: ignore[attr-defined]
    if hasattr(module, "warnings"):
        module.warnings = _MutedWarnings()  # type: ignore[attr-defined]

"""Load one release's ``flax/optim`` under a private name, beside whatever flax is installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import jax


class WithOldNames:
    """An installed module, in which some names are what they were."""

    def __init__(self, module: Any, names: Mapping[str, Any]) -> None:
        self._module = module
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


# What old flax calls.
JAX = WithOldNames(
    jax,
    {
        "tree_flatten": jax.tree_util.tree_flatten,
        "tree_leaves": jax.tree_util.tree_leaves,
        "tree_map": jax.tree_util.tree_map,
        "tree_multimap": jax.tree_util.tree_map,
        "tree_structure": jax.tree_util.tree_structure,
        "tree_unflatten": jax.tree_util.tree_unflatten,
    },
)


class _MutedWarnings:
    """A stand-in for the ``warnings`` module that says nothing."""

    def warn(self, *args: Any, **kwargs: Any) -> None:
        """Ignore the warning."""


def load_private_package(
    name: str, directory: Path, companions: Mapping[str, ModuleType]
) -> ModuleType:
    """Load ``directory`` under a name of two parts, its sibling modules being ``companions``.

    The second part of the name is that of the directory.
    """
    package = name.partition(".")[0]
    parent = ModuleType(package)
    parent.__path__ = [str(directory.parent)]
    sys.modules[package] = parent
    for each, module in companions.items():
        sys.modules[f"{package}.{each}"] = module
        setattr(parent, each, module)
    # flax/optim/__init__.py adds a process-wide warnings filter; this undoes it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in [directory, *sorted(directory.glob("[!_]*.py"))]:
            inside = "" if path == directory else f".{path.stem}"
            _rebind(importlib.import_module(f"{name}{inside}"))
    return sys.modules[name]


def load_quiet_copy(module: ModuleType) -> ModuleType:
    """Load a second copy of an imported module, one that emits no warnings."""
    spec = module.__spec__
    assert spec is not None and spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    copy.warnings = _MutedWarnings()  # type: ignore[attr-defined]
    return copy


def _rebind(module: ModuleType) -> None:
    # Only the old modules' own globals change: patching the real jax or the process's
    # warning filters would let the library under test profit from it unnoticed.
    if hasattr(module, "jax"):
        module.jax = JAX  # type: ignore[attr-defined]
    if hasattr(module, "warnings"):
        module.warnings = _MutedWarnings()  # type: ignore[attr-defined]

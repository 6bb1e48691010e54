"""Waits, at the start of an interpreter, for the modules whose classes are observed.

It runs in every process of an observed command, before any other code, so it imports no jax.
"""

from __future__ import annotations

import importlib
import os
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# The folder that each observed process writes its files into.
FOLDER = "FLAXOPTIM_COMPAT_OBSERVE"

# {a module: who is told once it has been imported, each as `module:function`}
TOLD: dict[str, tuple[str, ...]] = {
    "flaxoptim_compat.optim.optimizer": ("flaxoptim_compat.observation.recorder:attach",),
    "flax.training.train_state": ("flaxoptim_compat.observation.recorder:attach",),
}


class Waiting:
    """A finder that has others find those modules, and tells of them once they are there."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find."""
        if self in sys.meta_path[1:]:
            # That of pytest, which came later, finds modules of this package itself.
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        if name not in TOLD:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                _tell_when_loaded(spec.loader)
                return spec
        return None


def _tell_when_loaded(loader: object) -> None:
    load = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module  # type: ignore[attr-defined]
        load(module)
        tell(module)

    loader.exec_module = exec_module  # type: ignore[attr-defined]


def tell(module: ModuleType) -> None:
    """Have what observes the classes of a module begin."""
    for each in TOLD[module.__name__]:
        where, _, function = each.partition(":")
        getattr(importlib.import_module(where), function)(module)


def start_from_environment() -> None:
    """Begin to wait, if this process is observed."""
    if os.environ.get(FOLDER):
        sys.meta_path.insert(0, Waiting())

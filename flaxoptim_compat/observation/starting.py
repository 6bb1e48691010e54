"""Waits, at the start of an interpreter, for the modules whose classes are observed.

It runs in every process of an observed command, before any other code, so it imports no jax.
"""

from __future__ import annotations

import importlib
import os
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# The folders that each observed process writes into: where it uses optimizers, and what they do.
USES = "FLAXOPTIM_COMPAT_OBSERVE"
NUMBERS = "FLAXOPTIM_COMPAT_NUMBERS"
# The copy of a folder that each process keeps to, as ``copied_folder.CopiedFolder`` says it.
COPY = "FLAXOPTIM_COMPAT_COPY"

# {a variable: {a module: the function that gets it once it is imported, as `module:function`}}
_TOLD = {
    USES: {"flaxoptim_compat.optim.base": "flaxoptim_compat.observation.uses:attach"},
    NUMBERS: {
        "flaxoptim_compat.optim.optimizer": "flaxoptim_compat.observation.recorder:attach",
        "flax.training.train_state": "flaxoptim_compat.observation.recorder:attach",
    },
}


class ImportWatch:
    """A finder that calls functions with modules once the other finders have loaded them.

    Args:
      told: the modules, and the functions to call, as ``module:function``.
      before: takes the ``__path__`` of the package, or None, before each search for a module.
    """

    def __init__(
        self, told: Mapping[str, str], before: Callable[[object], None] | None = None
    ) -> None:
        self._told = told
        self._before = before

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a watched module, which the other finders find; None for other modules."""
        if self in sys.meta_path[1:]:
            # The finder of pytest, which came later, finds modules of this package itself.
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        if self._before is not None:
            self._before(path)
        if name not in self._told:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                _tell_when_loaded(spec.loader, self._told[name])
                return spec
        return None


def _tell_when_loaded(loader: object, told: str) -> None:
    load = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module  # type: ignore[attr-defined]
        load(module)
        where, _, function = told.partition(":")
        getattr(importlib.import_module(where), function)(module)

    loader.exec_module = exec_module  # type: ignore[attr-defined]


def start_from_environment() -> None:
    """Watch for the modules to observe, if the environment says that this process is observed."""
    told = {}
    for variable, modules in _TOLD.items():
        if os.environ.get(variable):
            told.update(modules)
    before = None
    if os.environ.get(COPY):
        from flaxoptim_compat.observation import guard

        before = guard.start(os.environ[COPY])
    if told or before is not None:
        sys.meta_path.insert(0, ImportWatch(told, before))

"""A module under a lost name, in front of the module that serves the name."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any

from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.entry import LegacyName, Registry
from flaxoptim_compat.legacy.names.gone_for_good import GONE
from flaxoptim_compat.legacy.names.linen_instead_of_nn import LINEN_INSTEAD_OF_NN, NN


class Alias(ModuleType):
    """A module whose attributes are those of another module.

    The alias is an object of its own: it counts each use of an attribute by the old name, and the
    other module gets no second name and no second spec.
    """

    def __init__(self, entry: LegacyName, registry: Registry) -> None:
        super().__init__(entry.name)
        # Set in __dict__, so that __getattr__ is not called for them.
        self.__dict__.update(__entry__=entry, __registry__=registry)

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:
            raise AttributeError(name)
        entry = self.__entry__
        try:
            value = getattr(entry.serve(), name)
        except AttributeError:
            # The serving module may have lost this name too. Then a row has another place for it.
            row = self._rows().get(name)
            if row is None and f"{entry.name}.{name}" in GONE:
                raise no_such_name(self, name, sys._getframe(1)) from None
            if row is None:
                raise
            value = row.serve()
        if not name.startswith("__"):
            usage.record(f"{entry.name}.{name}", self._notice(name))
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Python sets an imported module as an attribute of its package. In flax.nn, `stochastic` is
        # a module and also a function, which must stay.
        if isinstance(value, Alias) and callable(getattr(self.__entry__.serve(), name, None)):
            return
        super().__setattr__(name, value)

    def _notice(self, name: str) -> str | None:
        entry: LegacyName = self.__entry__
        # An optimizer warns when it is made, not when its class is read.
        if entry.name.startswith("flax.optim"):
            return None
        if entry.name.startswith(NN):
            # A module moves to Linen as a whole: one notice for each name is enough.
            if usage.counts[f"{entry.name}.{name}"]:
                return None
            if name in LINEN_INSTEAD_OF_NN:
                gone = f"{entry.name}.{name} is gone since {entry.gone_since}"
                return f"{gone}. In Linen: {LINEN_INSTEAD_OF_NN[name]}"
        return (self._rows().get(name) or _one_name(entry, name)).notice

    def _rows(self) -> dict[str, LegacyName]:
        rows: dict[str, LegacyName] = self.__registry__.attributes.get(self.__entry__.name, {})
        return rows

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(self.__entry__.serve())})


# The attributes that the import system reads before it sets them. The alias has its own.
_OWN = frozenset({"__path__", "__spec__", "__loader__", "__package__", "__cached__"})


def _one_name(entry: LegacyName, name: str) -> LegacyName:
    """The row of a module, changed to a row of one name in the module."""
    module = entry.instead or entry.served_by
    try:
        has_it = hasattr(importlib.import_module(module), name)
    except ImportError:
        has_it = False
    return entry._replace(
        name=f"{entry.name}.{name}", instead=f"{module}.{name}" if has_it else module
    )


class AliasLoader:
    """The loader that makes the alias of a module in the tables."""

    def __init__(self, entry: LegacyName, registry: Registry) -> None:
        self.entry = entry
        self.registry = registry

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The alias, before ``exec_module`` fills it."""
        del spec
        return Alias(self.entry, self.registry)

    def exec_module(self, module: ModuleType) -> None:
        """Import the serving module now, so that an error appears at the import."""
        module.__doc__ = self.entry.serve().__doc__
        usage.record_import(self.entry.name)


def remove(name: str) -> None:
    """Remove the alias of this name, if there is one, from the loaded modules and its package."""
    alias = sys.modules.get(name)
    if not isinstance(alias, Alias):
        return
    del sys.modules[name]
    parent, _, child = name.rpartition(".")
    if parent in sys.modules and vars(sys.modules[parent]).get(child) is alias:
        delattr(sys.modules[parent], child)


def no_such_name(module: ModuleType, name: str, asked_from: FrameType) -> Exception:
    """The error for a missing name: with advice if the name is gone for good, else Python's own.

    Args:
      module: the module.
      name: the name.
      asked_from: the frame that reads the attribute.
    """
    message = f"module {module.__name__!r} has no attribute {name!r}"
    advice = GONE.get(f"{module.__name__}.{name}")
    if advice is None:
        return AttributeError(message, name=name, obj=module)
    message = f"{module.__name__}.{name} is gone for good: {advice}."
    # A from-import drops the message of an AttributeError, and keeps that of an ImportError.
    if _is_from_import(asked_from):
        return ImportError(message, name=module.__name__)
    return AttributeError(message, name=name, obj=module)


def _is_from_import(frame: FrameType) -> bool:
    code = frame.f_code.co_code
    return frame.f_lasti >= 0 and code[frame.f_lasti] == opmap["IMPORT_FROM"]

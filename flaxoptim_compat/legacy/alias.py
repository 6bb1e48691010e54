"""A module under a name that is gone, in front of the module that serves it."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any

from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.entry import Entry, Registry
from flaxoptim_compat.legacy.names.gone_for_good import GONE
from flaxoptim_compat.legacy.names.linen_instead_of_nn import LINEN_INSTEAD_OF_NN, NN


class Alias(ModuleType):
    """A module whose attributes are those of another one.

    An alias is not the other module itself, so that reading an attribute by the old name can be
    counted and the other module never gets a second name and a second spec.
    """

    def __init__(self, entry: Entry, registry: Registry) -> None:
        super().__init__(entry.name)
        # In __dict__, where __getattr__ does not look.
        self.__dict__.update(__entry__=entry, __registry__=registry)

    def __getattr__(self, name: str) -> Any:
        entry: Entry = self.__dict__["__entry__"]
        if name in _OWN:
            raise AttributeError(name)
        try:
            value = getattr(entry.serve(), name)
        except AttributeError:
            # What serves the module may have lost this name, which is somewhere else.
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
        # Python binds a module that it has imported in the one around it. flax.nn.stochastic is
        # a module as well as a function, which hides it.
        entry: Entry = self.__dict__["__entry__"]
        if isinstance(value, Alias) and callable(getattr(entry.serve(), name, None)):
            return
        super().__setattr__(name, value)

    def _notice(self, name: str) -> str | None:
        entry: Entry = self.__dict__["__entry__"]
        # Making an optimizer warns; naming its class does not.
        if entry.name.startswith("flax.optim"):
            return None
        if entry.name.startswith(NN):
            # A module moves to Linen as a whole, so that each of its lines need not say so.
            if usage.counts[f"{entry.name}.{name}"]:
                return None
            if name in LINEN_INSTEAD_OF_NN:
                gone = f"{entry.name}.{name} is gone since {entry.gone_since}"
                return f"{gone}. In Linen: {LINEN_INSTEAD_OF_NN[name]}"
        return (self._rows().get(name) or _one_name(entry, name)).notice

    def _rows(self) -> dict[str, Entry]:
        entry: Entry = self.__dict__["__entry__"]
        rows: dict[str, Entry] = self.__dict__["__registry__"].attributes.get(entry.name, {})
        return rows

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(self.__dict__["__entry__"].serve())})


# What the import system asks of a module before it sets it, and must not get from the other one.
_OWN = frozenset({"__path__", "__spec__", "__loader__", "__package__", "__cached__"})


def _one_name(entry: Entry, name: str) -> Entry:
    """The row as it is for one name of the module: its replacement too, if that is a module."""
    module = entry.instead or entry.served_by
    try:
        has_it = hasattr(importlib.import_module(module), name)
    except ImportError:
        has_it = False
    return entry._replace(
        name=f"{entry.name}.{name}", instead=f"{module}.{name}" if has_it else module
    )


class AliasLoader:
    """Makes the alias of a row of the tables."""

    def __init__(self, entry: Entry, registry: Registry) -> None:
        self.entry = entry
        self.registry = registry

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An alias that is not filled in yet."""
        del spec
        return Alias(self.entry, self.registry)

    def exec_module(self, module: ModuleType) -> None:
        """Import what serves the name, so that an error appears at the import."""
        module.__doc__ = self.entry.serve().__doc__
        usage.record_import(self.entry.name)


def remove(name: str) -> None:
    """Take an alias, if there is one by this name, out of the loaded modules and its parent."""
    alias = sys.modules.get(name)
    if not isinstance(alias, Alias):
        return
    del sys.modules[name]
    parent, _, child = name.rpartition(".")
    if parent in sys.modules and vars(sys.modules[parent]).get(child) is alias:
        delattr(sys.modules[parent], child)


def no_such_name(module: ModuleType, name: str, asked_from: FrameType) -> Exception:
    """The error: what to do about a name that is gone for good, of others what Python says.

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
    # Of an AttributeError a from-import keeps nothing, and says only that it cannot import.
    if _is_from_import(asked_from):
        return ImportError(message, name=module.__name__)
    return AttributeError(message, name=name, obj=module)


def _is_from_import(frame: FrameType) -> bool:
    code = frame.f_code.co_code
    return frame.f_lasti >= 0 and code[frame.f_lasti] == opmap["IMPORT_FROM"]

"""Gives a module its lost names back, through its ``__getattr__``.

Python calls ``__getattr__`` only for names that the module does not have. No existing name is ever
replaced, therefore, and a lost name costs nothing until a program reads it.
"""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.alias import Alias, no_such_name
from flaxoptim_compat.legacy.entry import Registry
from flaxoptim_compat.legacy.finders import find_elsewhere
from flaxoptim_compat.legacy.names.gone_for_good import GONE

_MARK = "_flaxoptim_compat_original"
_lock = threading.Lock()


def attach(module: ModuleType, registry: Registry) -> None:
    """Let a module serve the names that the registry has for the module."""
    with _lock:
        # An alias has lost no names.
        if not hasattr(vars(module).get("__getattr__"), _MARK) and not isinstance(module, Alias):
            _attach(module, registry)


def _attach(module: ModuleType, registry: Registry) -> None:
    original: Callable[[str], Any] | None = vars(module).get("__getattr__")
    gone: set[str] = set()

    def __getattr__(name: str) -> Any:  # noqa: N807
        entry = registry.attributes.get(module.__name__, {}).get(name)
        # The module's own __getattr__ comes first: it may still serve the name.
        if original is not None and (entry is None or _answers(original, name, gone)):
            return _ask(original, module, name, sys._getframe(1))
        if entry is None:
            raise no_such_name(module, name, sys._getframe(1))
        # Only a package has submodules to import; elsewhere a module is an attribute like others.
        if entry.is_module and hasattr(module, "__path__"):
            return importlib.import_module(entry.name)
        value = entry.serve()
        usage.record(entry.name, entry.notice)
        return value

    setattr(__getattr__, _MARK, original)
    module.__getattr__ = __getattr__  # type: ignore[method-assign]


def _ask(
    original: Callable[[str], Any], module: ModuleType, name: str, asked_from: FrameType
) -> Any:
    try:
        return original(name)
    except AttributeError:
        if f"{module.__name__}.{name}" in GONE:
            raise no_such_name(module, name, asked_from) from None
        raise


def _answers(original: Callable[[str], Any], name: str, gone: set[str]) -> bool:
    if name not in gone:
        try:
            # numpy warns of some names before it raises the AttributeError.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                original(name)
        except AttributeError:
            gone.add(name)
    return name not in gone


def detach(module: ModuleType) -> None:
    """Undo ``attach``."""
    current = vars(module).get("__getattr__")
    if not hasattr(current, _MARK):
        return
    original = getattr(current, _MARK)
    if original is None:
        del module.__getattr__
    else:
        module.__getattr__ = original  # type: ignore[method-assign]


def load_shadowed(module: ModuleType, registry: Registry) -> None:
    """Load the lost modules whose package still has an object of the same name.

    ``jax.config`` was a module and is an object today. An import of the module would replace the
    object in the package. Python does not do this for a module that is loaded already.
    """
    if not hasattr(module, "__path__"):
        return
    for entry in registry.attributes.get(module.__name__, {}).values():
        if not entry.is_module or entry.attribute not in vars(module):
            continue
        if entry.name in sys.modules or find_elsewhere(entry.name, module.__path__) is not None:
            continue
        sys.modules[entry.name] = Alias(entry, registry)

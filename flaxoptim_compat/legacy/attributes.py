"""Names that a module has lost, given back through its ``__getattr__``.

That function is asked only for names that the module does not have, so nothing that exists is
ever replaced, and a name costs nothing until a program reads it.
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
    """Let a module answer for the names that the registry has for it."""
    with _lock:
        # Modules that stand in have no names that they could have lost.
        if not hasattr(vars(module).get("__getattr__"), _MARK) and not isinstance(module, Alias):
            _attach(module, registry)


def _attach(module: ModuleType, registry: Registry) -> None:
    original: Callable[[str], Any] | None = vars(module).get("__getattr__")
    gone: set[str] = set()

    def __getattr__(name: str) -> Any:  # noqa: N807
        entry = registry.attributes.get(module.__name__, {}).get(name)
        # First: a name that the module itself still answers for is not ours.
        if original is not None and (entry is None or _answers(original, name, gone)):
            return _ask(original, module, name, sys._getframe(1))
        if entry is None:
            raise no_such_name(module, name, sys._getframe(1))
        # In a module that is no package, a module is an attribute like others.
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
            # numpy warns of some names before it says that it has no such name.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                original(name)
        except AttributeError:
            gone.add(name)
    return name not in gone


def detach(module: ModuleType) -> None:
    """Take back what ``attach`` did."""
    current = vars(module).get("__getattr__")
    if not hasattr(current, _MARK):
        return
    original = getattr(current, _MARK)
    if original is None:
        del module.__getattr__
    else:
        module.__getattr__ = original  # type: ignore[method-assign]


def load_shadowed(module: ModuleType, registry: Registry) -> None:
    """Load the modules that are gone while their parent still has something by that name.

    ``jax.config`` was a module and is an object. If Python imported the module the usual way, it
    would put it in the place of the object; it does not do so with a module that is loaded.
    """
    if not hasattr(module, "__path__"):
        return
    for entry in registry.attributes.get(module.__name__, {}).values():
        if not entry.is_module or entry.attribute not in vars(module):
            continue
        if entry.name in sys.modules or find_elsewhere(entry.name, module.__path__) is not None:
            continue
        sys.modules[entry.name] = Alias(entry, registry)

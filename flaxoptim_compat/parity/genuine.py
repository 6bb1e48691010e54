"""The genuine ``flax.optim``, if this Python has one.

It is loaded once more under a private name, with a ``jax`` that still has the names of its time:
the ``flax.optim`` of the program and the installed jax stay as they are.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat.legacy.entry import LegacyName
from flaxoptim_compat.legacy.installing import existing_flax_optim
from flaxoptim_compat.legacy.lost import ENTRIES
from flaxoptim_compat.versions.of_python import warnings_ignored

# Inside flax, for the sake of its relative imports.
_NAME = "flax._optim_beside_flaxoptim_compat"


def find() -> ModuleType | None:
    """The genuine ``flax.optim``; None if there is none, or it does not run here."""
    loaded = _module_or_problem()
    return None if isinstance(loaded, str) else loaded


def problem() -> str:
    """The reason why an installed genuine ``flax.optim`` does not run here; "" if there is none."""
    loaded = _module_or_problem()
    return loaded if isinstance(loaded, str) else ""


def _module_or_problem() -> ModuleType | str | None:
    place = existing_flax_optim()
    return None if place is None else _loaded(place)


@functools.cache
def _loaded(place: str) -> ModuleType | str:
    """The module, or the reason why it does not run."""
    try:
        return _run(place)
    except Exception as error:
        return f"the flax.optim in {place} does not run here: {type(error).__name__}: {error}"


def _run(place: str) -> ModuleType:
    path = Path(place)
    folders = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(_NAME, path, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file", path=place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    try:
        with warnings_ignored():
            spec.loader.exec_module(module)
        _give_old_names()
        _try_a_step(module)
    except BaseException:
        for name in [name for name in sys.modules if _is_inside(name)]:
            del sys.modules[name]
        raise
    return module


def _is_inside(name: str) -> bool:
    return name == _NAME or name.startswith(f"{_NAME}.")


class _JaxOfTheTime:
    """The installed jax, with the names that it has lost."""

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(jax, name)
        except AttributeError:
            if name not in _lost():
                raise
            return _lost()[name].serve()


@functools.cache
def _lost() -> dict[str, LegacyName]:
    return {entry.attribute: entry for entry in ENTRIES if entry.module == "jax"}


def _give_old_names() -> None:
    for name, module in list(sys.modules.items()):
        if _is_inside(name) and getattr(module, "jax", None) is jax:
            module.jax = _JaxOfTheTime()  # type: ignore[attr-defined]


def _try_a_step(module: Any) -> None:
    params = {"w": jnp.ones((2,))}
    # Ignored anew: on import, flax.optim sets a filter that always shows its warning.
    with warnings_ignored():
        jax.eval_shape(module.Momentum(0.1).create(params).apply_gradient, params)

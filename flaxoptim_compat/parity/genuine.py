"""A ``flax.optim`` that is really there, and a definition as it is in that one.

It is loaded once more under a private name, with a ``jax`` that still has the names of the time, so
that the program's own ``flax.optim`` and the installed jax stay as they are.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
from flax import serialization

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.installing import existing_flax_optim
from flaxoptim_compat.legacy.lost import ENTRIES
from flaxoptim_compat.parity.sides import is_optimizer
from flaxoptim_compat.versions.of_python import warnings_ignored

# Inside flax, for the sake of its relative imports.
_NAME = "flax._optim_beside_flaxoptim_compat"
_OF_FLAX = ("flax.optim.", f"{_NAME}.", "flaxoptim_compat.optim.")
# Of WeightNorm: the argument that is a definition itself.
_PART = "wrapped_optimizer"


def find() -> ModuleType | None:
    """The ``flax.optim`` that is there, is not this package's, and runs here; None if none."""
    found = _found()
    return None if isinstance(found, str) else found


def problem() -> str:
    """Why the ``flax.optim`` that is there cannot be used; empty if it can, or if there is none."""
    found = _found()
    return found if isinstance(found, str) else ""


def _found() -> ModuleType | str | None:
    place = existing_flax_optim()
    return None if place is None else _loaded(place)


@functools.cache
def _loaded(place: str) -> ModuleType | str:
    """The module, or why it does not run."""
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
    """The installed jax, and the names that it has lost."""

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(jax, name)
        except AttributeError:
            if name not in _lost():
                raise
            return _lost()[name].serve()


@functools.cache
def _lost() -> dict[str, Entry]:
    return {entry.attribute: entry for entry in ENTRIES if entry.module == "jax"}


def _give_old_names() -> None:
    for name, module in list(sys.modules.items()):
        if _is_inside(name) and getattr(module, "jax", None) is jax:
            module.jax = _JaxOfTheTime()  # type: ignore[attr-defined]


def _try_a_step(module: Any) -> None:
    params = {"w": jnp.ones((2,))}
    # Anew, because flax.optim sets a filter of its own, by which its warning is always shown.
    with warnings_ignored():
        jax.eval_shape(module.Momentum(0.1).create(params).apply_gradient, params)


def as_genuine(subject: Any, module: Any) -> Any:
    """The same in another flax.optim: a definition, or an Optimizer with its state.

    Args:
      subject: a definition or an Optimizer of any flax.optim: this package's or a genuine one.
      module: the flax.optim to make it in.

    Returns:
      The same; None if there is no such class, or a class of the user's is involved.
    """
    with warnings_ignored():
        if not is_optimizer(subject):
            return _definition(subject, module)
        definition = _definition(subject.optimizer_def, module)
        if definition is None:
            return None
        fresh = definition.create(subject.target)
        return fresh.restore_state(serialization.to_state_dict(subject))


def _definition(definition: Any, module: Any) -> Any:
    kind = type(definition)
    other = getattr(module, kind.__name__, None)
    if not f"{kind.__module__}.".startswith(_OF_FLAX) or not isinstance(other, type):
        return None
    if hasattr(definition, "sub_optimizers"):
        parts = [_definition(part, module) for part in definition.sub_optimizers]
        if any(part is None for part in parts):
            return None
        return other(*zip(definition.traversals, parts, strict=True))
    arguments = _arguments(definition, other, module)
    if arguments.get(_PART, definition) is None:
        return None
    return other(**arguments)


def _arguments(definition: Any, other: type, module: Any) -> dict[str, Any]:
    """The values of the constructor's arguments, which have the names of the hyper-parameters."""
    found = {}
    for name in inspect.signature(other).parameters:
        if name == _PART:
            found[name] = _definition(getattr(definition, name), module)
        elif hasattr(definition.hyper_params, name):
            found[name] = getattr(definition.hyper_params, name)
        else:
            # Not all are kept as hyper-parameters: the dtype of a momentum is not.
            found[name] = getattr(definition, name)
    return found

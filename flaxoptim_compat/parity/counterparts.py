"""A definition or an Optimizer of one flax.optim, made anew in another flax.optim.

Beside the flax.optim of this package there may be the genuine one, or a copy of its files, and a
recording remembers the definition of a third.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.catalogue import BY_NAME, DTYPE, WRAPPED
from flaxoptim_compat.parity.recordings.recording import Recording
from flaxoptim_compat.versions.of_python import warnings_ignored

_MULTI = "MultiOptimizer"


def is_definition(subject: Any) -> bool:
    """True for a definition, of this package or of the genuine flax.optim."""
    return not isinstance(subject, type) and all(
        hasattr(subject, name) for name in ("hyper_params", "init_state", "create")
    )


def is_optimizer(subject: Any) -> bool:
    """True for an Optimizer, of this package or of the genuine flax.optim."""
    return not isinstance(subject, type) and all(
        hasattr(subject, name) for name in ("optimizer_def", "state", "target")
    )


def _made(module: Any, kind: Any, arguments: Mapping[str, Any], parts: Sequence[Any]) -> Any:
    """The definition of a class in a flax.optim; None if class or parts are missing, or differ.

    Args:
      module: the flax.optim.
      kind: the name of the class.
      arguments: the arguments of the class by name, but for other definitions.
      parts: the definitions among the arguments.
    """
    cls = getattr(module, kind, None)
    if not isinstance(cls, type) or any(part is None for part in parts):
        return None
    arguments = {**arguments, **dict(zip([WRAPPED], parts, strict=False))}
    # A recording has no dtype, which is no number: the caller compares the two definitions.
    known = inspect.signature(cls).parameters
    surplus = len(parts) > 1 or set(arguments) - set(known)
    return None if surplus or set(known) - set(arguments) - {DTYPE} else cls(**arguments)


def _remade(definition: Any, module: Any) -> Any:
    """A definition of any flax.optim, made anew in another one.

    Returns:
      None if its class is no optimizer of flax.optim, or one that the user derived from such a
      class, which may do anything.
    """
    cls = type(definition)
    if cls.__name__ not in {*BY_NAME, _MULTI} or cls.__mro__[1].__name__ != "OptimizerDef":
        return None
    wrapped = getattr(definition, WRAPPED, None)
    inner = getattr(definition, "sub_optimizers", [wrapped] if wrapped else [])
    parts = [_remade(each, module) for each in inner]
    if cls.__name__ == _MULTI:
        if any(part is None for part in parts):
            return None
        return getattr(module, _MULTI)(*zip(definition.traversals, parts, strict=True))
    fields = {field.name for field in dataclasses.fields(definition.hyper_params)}
    names = fields & {*BY_NAME[cls.__name__].hyper_params}
    arguments = {name: getattr(definition.hyper_params, name) for name in names}
    if hasattr(definition, DTYPE):
        arguments[DTYPE] = getattr(definition, DTYPE)
    return _made(module, cls.__name__, arguments, parts)


def _recorded(entry: Any) -> Any:
    """A definition in a recording, made anew; None if it is not surely of flax.optim.

    Args:
      entry: ``class``, ``module``, ``hyper_params`` and ``parts``, unless the file was changed.
    """
    if not isinstance(entry, Mapping):
        return None
    kind, module = entry.get("class"), entry.get("module")
    arguments, parts = entry.get("hyper_params"), entry.get("parts")
    # Also a copy of Flax's files in a package of the user's.
    if not (isinstance(module, str) and "optim" in module.split(".") and kind in BY_NAME):
        return None
    if not isinstance(arguments, dict) or not isinstance(parts, list):
        return None
    return _made(optim, kind, arguments, list(map(_recorded, parts)))


def counterpart(subject: Any, module: Any) -> Any:
    """The counterpart of a subject in a flax.optim: the subject itself, if it is from there.

    Args:
      subject: a definition or an Optimizer of any flax.optim.
      module: the flax.optim of the counterpart.

    Returns:
      None if there is none, or a class of the user's is involved.
    """
    definition = subject.optimizer_def if is_optimizer(subject) else subject
    # The user did not make this definition, so no warning of a removal is due.
    with warnings_ignored():
        made = _remade(definition, module)
        if made is not None and isinstance(definition, module.OptimizerDef):
            return subject
        if made is None or definition is subject:
            return made
        return made.create(subject.target).restore_state(serialization.to_state_dict(subject))


def recorded_optimizer(recording: Recording) -> Any:
    """An Optimizer with the definition, the parameters, the moments and the step of a recording.

    Its first updates are those that were recorded, but for rounding, and for arguments of the
    definition that are no numbers, such as a dtype: the caller compares the two.

    Args:
      recording: a recording of an optimizer of flax.optim.

    Returns:
      None where the recording does not say all that is needed: parameters without an optimizer, a
      class that is not flax.optim's, a MultiOptimizer, whose filters are functions.
    """
    definition = _recorded(recording.definition)
    if definition is None:
        return None
    params = jax.tree.map(jnp.asarray, recording.params)
    state = definition.init_state(params)
    fresh = leaves_like(params, state.param_states, "states")
    columns = recording.start_moments
    try:
        states = [
            _filled(leaf, {name: column[i] for name, column in columns.items()})
            for i, leaf in enumerate(fresh)
        ]
    except LookupError:
        return None
    treedef: Any = jax.tree.structure(params)
    step = jnp.asarray(recording.start_step, jnp.int32)
    return optim.Optimizer(
        definition, state.replace(step=step, param_states=treedef.unflatten(states)), params
    )


def _filled(state: Any, moments: Mapping[str, Any], prefix: str = "") -> Any:
    """The state of one parameter with the moments that were recorded for it.

    Raises:
      LookupError: they are not those of this state.
    """
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        values = {
            field.name: _filled(getattr(state, field.name), moments, f"{prefix}{field.name}.")
            for field in dataclasses.fields(state)
        }
        return dataclasses.replace(state, **values)
    if not hasattr(state, "shape"):
        return state
    array = moments.get(prefix[:-1])
    if array is None or array.shape != state.shape:
        raise LookupError(prefix[:-1])
    return jnp.asarray(array)

"""A definition or an Optimizer of one flax.optim, made anew in another flax.optim.

Beside the flax.optim of this package there may be the genuine one, or a copy of its files.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from flax import serialization

from flaxoptim_compat.catalogue import BY_NAME, DTYPE, WRAPPED
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

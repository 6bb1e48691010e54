"""A legacy side as definitions of this package, whose settings are known."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import jax

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.parity.recordings.recorded_optimizer import recorded_optimizer
from flaxoptim_compat.parity.recordings.recording import Recording
from flaxoptim_compat.parity.sides import is_definition, is_optimizer

OF_FLAX = "flax.optim's definition"


@dataclasses.dataclass(frozen=True)
class Legacy:
    """A definition of this package, and the Optimizer that goes on with it, if there is one.

    Args:
      definition: the definition.
      optimizer: the Optimizer.
      called: what to call the side in a sentence.
    """

    definition: Any
    optimizer: Any = None
    called: str = OF_FLAX


def legacy(subject: Any) -> Legacy | None:
    """What a side is in this package; None if it is nothing that flax.optim had.

    Args:
      subject: any side. Those of the genuine flax.optim are recognised by their names and fields,
        and of a recording its first state goes on.
    """
    if isinstance(subject, Recording):
        recorded = recorded_optimizer(subject)
        return None if recorded is None else Legacy(recorded.optimizer_def, recorded)
    if is_optimizer(subject):
        definition = as_ours(subject.optimizer_def)
        return None if definition is None else Legacy(definition, _moved(subject, definition))
    if is_definition(subject):
        definition = as_ours(subject)
        return None if definition is None else Legacy(definition)
    return None


def as_ours(definition: Any) -> Any:
    """The same definition, of this package; None for a subclass, which may do anything."""
    cls: Any = getattr(optim, type(definition).__name__, None)
    if cls is None or (isinstance(definition, optim.OptimizerDef) and type(definition) is not cls):
        return None
    if cls is optim.MultiOptimizer:
        parts = tuple(map(as_ours, definition.sub_optimizers))
        if any(part is None for part in parts):
            return None
        return _made(cls, traversals=definition.traversals, sub_optimizers=parts)
    if cls is optim.WeightNorm:
        wrapped = as_ours(definition.wrapped_optimizer)
        return None if wrapped is None else _weight_norm(definition, wrapped)
    if cls not in KINDS:
        return None
    return definition if isinstance(definition, cls) else _copied(cls, definition)


def _made(cls: Any, **attributes: Any) -> Any:
    """An instance without its __init__, which would warn the user of what the user did not do."""
    made = object.__new__(cls)
    vars(made).update(attributes)
    if cls is optim.MultiOptimizer:
        made.hyper_params = [part.hyper_params for part in attributes["sub_optimizers"]]
    return made


def _weight_norm(definition: Any, wrapped: Any) -> Any:
    own = (definition.hyper_params.wn_decay, definition.hyper_params.wn_eps)
    return _made(optim.WeightNorm, wrapped_optimizer=wrapped, _own=own)


def _copied(cls: Any, definition: Any) -> Any:
    """Ours with the hyper-parameters of a definition of the same name; None if those differ."""
    values = hp.fields_of(definition.hyper_params)
    lasting = {name: value for name, value in vars(definition).items() if name == "dtype_momentum"}
    if {*values, *lasting} != set(inspect.signature(cls).parameters):
        return None
    return _made(cls, hyper_params=definition.hyper_params, **lasting)


def _moved(optimizer: Any, definition: Any) -> Any:
    """The Optimizer of this package at the same place."""
    if isinstance(optimizer, optim.Optimizer) and definition is optimizer.optimizer_def:
        return optimizer
    target = optimizer.target
    theirs = leaves_like(target, optimizer.state.param_states, "param_states")
    fresh = definition.init_state(target)
    ours = leaves_like(target, fresh.param_states, "param_states")
    states = list(map(_filled, ours, theirs))
    param_states = jax.tree.unflatten(jax.tree.structure(target), states)
    state = optim.OptimizerState(optimizer.state.step, param_states)
    return optim.Optimizer(definition, state, target)


def _filled(ours: Any, theirs: Any) -> Any:
    """Our state of one parameter, with the values of the genuine one's fields."""
    if not dataclasses.is_dataclass(ours):
        return theirs
    values = {
        field.name: _filled(getattr(ours, field.name), getattr(theirs, field.name))
        for field in dataclasses.fields(ours)
    }
    return dataclasses.replace(ours, **values)  # type: ignore[type-var]

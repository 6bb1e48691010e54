"""The optimizer of this package that stands where a recording begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat import optim
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.parity.counterparts import recorded
from flaxoptim_compat.parity.recordings.recording import Recording


def recorded_optimizer(recording: Recording) -> Any:
    """An Optimizer with the definition, the parameters, the moments and the step of a recording.

    Its first updates are those that were recorded, up to rounding and up to what the definition was
    given that is no number, such as a dtype; whoever relies on it compares the two.

    Args:
      recording: of an optimizer of flax.optim.

    Returns:
      None where the recording does not say all that is needed: parameters without an optimizer, a
      class that is not flax.optim's, a MultiOptimizer, whose filters are functions.
    """
    description = recorded(recording.definition)
    definition = None if description is None else description.made_in(optim)
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

"""The state of a flax.optim Optimizer: the kind of optimizer, and the Flax that wrote the state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from flaxoptim_compat.checkpoint_contents.fields import (
    LEGACY_KINDS,
    WEIGHT_NORM_ENTRIES,
    OptimizerKind,
)
from flaxoptim_compat.checkpoint_files.stored import is_index
from flaxoptim_compat.checkpoint_files.trees import mappings_in


def kind_of_entry(entry: Any) -> OptimizerKind | None:
    """The kind of optimizer that moves the parameter with this state; None if it is frozen."""
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        return OptimizerKind((), fields=("a single array",))
    names = frozenset(entry)
    if names in WEIGHT_NORM_ENTRIES:
        inner = kind_of_entry(entry["direction_state"])
        if inner is None or inner.weight_norm or not inner.names:
            return OptimizerKind((), fields=tuple(entry))
        return dataclasses.replace(inner, weight_norm=True)
    # A field that is not in use is None, such as the mean of an RMSProp without centering.
    fields = tuple(name for name in entry if entry[name] is not None)
    return OptimizerKind(LEGACY_KINDS.get(names, ()), fields=fields)


def is_list_of_states(state: Any) -> bool:
    """True for a list of states, as MultiOptimizer had it up to Flax 0.3.2: one per optimizer."""
    if not isinstance(state, Mapping) or not state:
        return False
    return all(
        is_index(name)
        and isinstance(child, Mapping)
        and set(child) == {"step", "param_states"}
        and isinstance(child["param_states"], Mapping)
        for name, child in state.items()
    )


def states_of(state: Any) -> list[Mapping[str, Any]]:
    """The states in a list of states, in the order of the optimizers; any other state alone."""
    if not is_list_of_states(state):
        return [state]
    return [state[name] for name in sorted(state, key=int)]


def generation(optimizer: Mapping[str, Any]) -> str:
    """The layout of an optimizer in words: the last release of Flax that wrote it."""
    target, state = optimizer["target"], optimizer["state"]
    if any(type(each["step"]) is int for each in states_of(state)):
        last = "0.2.2"
    elif is_list_of_states(state):
        last = "0.3.2"
    elif any(map(_is_numbered, mappings_in(target))):
        last = "0.3.4"
    elif any(set(node) == WEIGHT_NORM_ENTRIES[1] for node in mappings_in(state)):
        last = "0.3.6"
    else:
        return "legacy, as Flax 0.5.3 wrote it"
    return f"legacy, as Flax {last} wrote it"


def _is_numbered(node: Mapping[str, Any]) -> bool:
    return set(node) == {"name", "fields", "values"} and isinstance(node["name"], str)

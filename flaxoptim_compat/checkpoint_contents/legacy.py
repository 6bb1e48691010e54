"""The state of a flax.optim Optimizer: which optimizer, and which Flax wrote it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from flaxoptim_compat.checkpoint_contents.fields import LEGACY_KINDS, WEIGHT_NORM_ENTRIES, Kind
from flaxoptim_compat.checkpoint_files.stored import is_index


def kind_of_entry(entry: Any) -> Kind | None:
    """The kind of optimizer that moves the parameter with this state; None where nothing does."""
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        return Kind((), fields=("a single array",))
    names = frozenset(entry)
    if names in WEIGHT_NORM_ENTRIES:
        inner = kind_of_entry(entry["direction_state"])
        if inner is None or inner.weight_norm or not inner.names:
            return Kind((), fields=tuple(entry))
        return dataclasses.replace(inner, weight_norm=True)
    # A field that is not in use, such as the mean of an RMSProp without centering, is None.
    fields = tuple(name for name in entry if entry[name] is not None)
    return Kind(LEGACY_KINDS.get(names, ()), fields=fields)


def is_list_of_states(state: Any) -> bool:
    """True for the state of a MultiOptimizer of Flax 0.3.2 or earlier: one for each optimizer."""
    if not isinstance(state, Mapping) or not state:
        return False
    return all(
        is_index(name)
        and isinstance(each, Mapping)
        and set(each) == {"step", "param_states"}
        and isinstance(each["param_states"], Mapping)
        for name, each in state.items()
    )


def states_of_list(state: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The states of the optimizers in such a state of a MultiOptimizer, in their order."""
    for name in sorted(state, key=int):
        yield state[name]


def generation(optimizer: Mapping[str, Any]) -> str:
    """Which releases of Flax wrote an optimizer in this layout, in words."""
    target, state = optimizer["target"], optimizer["state"]
    listed = is_list_of_states(state)
    states = list(states_of_list(state)) if listed else [state]
    entries = [each.get("param_states") for each in states]
    if any(type(each["step"]) is int for each in states):
        last = "0.2.2"
    elif listed:
        last = "0.3.2"
    elif _any(target, _is_numbered):
        last = "0.3.4"
    elif _any(entries, lambda node: set(node) == WEIGHT_NORM_ENTRIES[1]):
        last = "0.3.6"
    else:
        return "legacy, as Flax 0.5.3 wrote it"
    return f"legacy, as Flax {last} wrote it"


def _is_numbered(node: Mapping[str, Any]) -> bool:
    return set(node) == {"name", "fields", "values"} and isinstance(node["name"], str)


def _any(tree: Any, test: Any) -> bool:
    if isinstance(tree, list):
        return any(_any(each, test) for each in tree)
    if not isinstance(tree, Mapping):
        return False
    return bool(test(tree)) or any(_any(child, test) for child in tree.values())

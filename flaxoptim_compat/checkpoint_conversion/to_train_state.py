"""An Optimizer of flax.optim in a checkpoint as a TrainState."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flax import serialization

from flaxoptim_compat.bridge import checkpoints
from flaxoptim_compat.bridge.definition import Assignment
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.checkpoint_contents.legacy import is_list_of_states
from flaxoptim_compat.checkpoint_conversion.choice import Choice
from flaxoptim_compat.checkpoint_conversion.states import refuse_copies, restored_states
from flaxoptim_compat.checkpoint_conversion.stored_trees import plain, read


def train_state_dict(params: Any, state: Any, choice: Choice) -> dict[str, Any]:
    """The state dict of ``Optimizer.to_train_state()``.

    Args:
      params: the parameters.
      state: the state, in any layout that Flax wrote.
      choice: the definition.

    Raises:
      ValueError: the state does not fit the definition; the message names the place.
    """
    state = _in_present_layout(params, plain(state), choice.assignments)
    refuse_copies(state["step"])
    states = restored_states(params, state["param_states"], choice)
    opt_state = choice.conversion(params).opt_state(
        state["step"], leaves_like(params, states, "param_states")
    )
    entries = {"step": state["step"], "params": params, "opt_state": opt_state}
    return {name: serialization.to_state_dict(entry) for name, entry in entries.items()}


def _in_present_layout(params: Any, state: Any, assignments: Sequence[Assignment]) -> Any:
    """The state in the layout of Flax 0.5.3."""
    if "step" in state:
        state = {"param_states": {}, **state}
    if is_list_of_states(state):
        # The steps are compared with each other, so they are read as numbers.
        state = {name: {**child, "step": read(child["step"])} for name, child in state.items()}
    merged = checkpoints.merge_list_of_states(params, state, [each.leaves for each in assignments])

    def upgraded(definition: Any, param: Any, entry: Any) -> Any:
        if isinstance(entry, Mapping) and "mult" in entry:
            # The only layout whose upgrade computes; all other upgrades move arrays.
            param, entry = read(param), {**entry, "mult": read(entry["mult"])}
        return definition.upgrade_param_state(param, entry)

    return checkpoints.upgrade(params, merged, assignments, upgraded)

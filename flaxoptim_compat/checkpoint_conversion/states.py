"""The legacy states of a checkpoint's parameters, checked against those of the definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import checkpoints
from flaxoptim_compat.bridge.strictness import strict
from flaxoptim_compat.checkpoint_conversion.choice import Choice
from flaxoptim_compat.checkpoint_files.stored import CheckpointError

# The methods whose state of a parameter depends on the parameter alone, and not on its place.
_LEAF_BY_LEAF = (optim.OptimizerDef.init_state, optim.WeightNorm.init_state)


def restored_states(params: Any, param_states: Any, choice: Choice) -> Any:
    """The legacy states of all parameters, restored from the dicts of a checkpoint.

    Args:
      params: the parameters; only their shapes and dtypes count.
      param_states: the dicts.
      choice: the definition.

    Raises:
      ValueError: an entry is missing, unexpected or of another shape; the message names it.
    """
    like = jax.tree.unflatten(jax.tree.structure(params), fresh_states(params, choice))
    param_states = with_empty_entries(serialization.to_state_dict(like), param_states)
    if choice.guessed and any(map(_is_adafactor, choice.assignments)):
        # The shapes of its statistics depend on hyper-parameters, which are not known.
        return serialization.from_state_dict(like, param_states)
    with strict():
        restored, _ = checkpoints.restore(like, param_states, "state/param_states")
    return restored


def with_empty_entries(expected: Any, stored: Any) -> Any:
    """The stored dicts with the expected entries that are empty or None; npz files lack these."""
    if not isinstance(expected, Mapping) or not isinstance(stored, Mapping):
        return stored
    filled = dict(stored)
    for name, child in expected.items():
        if child is None:
            filled.setdefault(name, None)
        elif isinstance(child, Mapping):
            filled[name] = with_empty_entries(child, stored.get(name, {}))
    return filled


def _is_adafactor(assignment: Any) -> bool:
    definition = assignment.definition
    if isinstance(definition, optim.WeightNorm):
        definition = definition.wrapped_optimizer
    return isinstance(definition, optim.Adafactor)


def fresh_states(params: Any, choice: Choice) -> list[Any]:
    """The state of every parameter before the first step, as shapes; None for frozen parameters."""
    leaves = jax.tree.leaves(params)
    states: list[Any] = [None] * len(leaves)
    for part in choice.assignments:
        part.put(_fresh_of(part.definition, part.pick(leaves)), states)
    return states


def _fresh_of(definition: Any, params: Sequence[Any]) -> list[Any]:
    """The state of every parameter of one definition before the first step, as shapes."""
    # A thousand layers have few shapes, and tracing each parameter would take a while.
    if type(definition).init_state in _LEAF_BY_LEAF:
        # A damaged checkpoint may have a Python number here.
        kinds = [(np.shape(leaf), getattr(leaf, "dtype", type(leaf))) for leaf in params]
        distinct = dict(zip(kinds, params, strict=True))
        fresh = jax.eval_shape(definition.init_state, tuple(distinct.values())).param_states
        by_kind = dict(zip(distinct, fresh, strict=True))
        return [by_kind[kind] for kind in kinds]
    return list(jax.eval_shape(definition.init_state, tuple(params)).param_states)


def refuse_copies(step: Any) -> None:
    """Refuse a checkpoint of a replicated optimizer.

    Raises:
      CheckpointError: the step is not a single number.
    """
    if np.shape(step) != ():
        raise CheckpointError(
            f"the step has shape {np.shape(step)}: the checkpoint has a copy for every device."
            " Restore it in your program, take one copy with `flax.jax_utils.unreplicate`, and save"
            " the copy."
        )

"""The legacy states of the parameters of a checkpoint, held against those of the definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import checkpoints
from flaxoptim_compat.bridge.strictness import strict
from flaxoptim_compat.checkpoint_conversion.choice import Choice
from flaxoptim_compat.checkpoint_files.stored import CheckpointError

# The methods that give a parameter the same state wherever it stands.
_LEAF_BY_LEAF = (optim.OptimizerDef.init_state, optim.WeightNorm.init_state)


def restored_states(params: Any, param_states: Any, choice: Choice) -> Any:
    """The legacy states of all parameters, out of the dicts that a checkpoint holds.

    Args:
      params: the parameters; only their shapes and dtypes count.
      param_states: the dicts.
      choice: what moves which parameter.

    Raises:
      ValueError: an entry is missing, unexpected or of another shape; the message names it.
    """
    like = jax.tree.unflatten(jax.tree.structure(params), fresh_states(params, choice))
    param_states = with_empty_entries(serialization.to_state_dict(like), param_states)
    if choice.guessed and any(map(_is_adafactor, choice.assignments)):
        # Its statistics have shapes that depend on hyper-parameters, which nobody gave.
        return serialization.from_state_dict(like, param_states)
    with strict():
        restored, _ = checkpoints.restore(like, param_states, "state/param_states")
    return restored


def with_empty_entries(expected: Any, found: Any) -> Any:
    """The dicts with what is empty, or None, in them again: an npz file has no place for it."""
    if not isinstance(expected, Mapping) or not isinstance(found, Mapping):
        return found
    filled = dict(found)
    for name, child in expected.items():
        if child is None:
            filled.setdefault(name, None)
        elif isinstance(child, Mapping):
            filled[name] = with_empty_entries(child, found.get(name, {}))
    return filled


def _is_adafactor(assignment: Any) -> bool:
    definition = assignment.definition
    if isinstance(definition, optim.WeightNorm):
        definition = definition.wrapped_optimizer
    return isinstance(definition, optim.Adafactor)


def fresh_states(params: Any, choice: Choice) -> list[Any]:
    """The state of every parameter before the first step, as shapes; None where it is frozen."""
    leaves = jax.tree.leaves(params)
    states: list[Any] = [None] * len(leaves)
    for each in choice.assignments:
        mine = [leaves[index] for index in each.leaves]
        for index, state in zip(each.leaves, _fresh_of(each.definition, mine), strict=True):
            states[index] = state
    return states


def _fresh_of(definition: Any, params: list[Any]) -> list[Any]:
    """The state of every parameter of one definition before the first step, as shapes."""
    # A thousand layers have a handful of shapes, and tracing takes a while for each.
    if type(definition).init_state in _LEAF_BY_LEAF:
        # A damaged checkpoint may have a Python number here.
        kinds = [(np.shape(leaf), getattr(leaf, "dtype", type(leaf))) for leaf in params]
        distinct = dict(zip(kinds, params, strict=True))
        fresh = jax.eval_shape(definition.init_state, tuple(distinct.values())).param_states
        by_kind = dict(zip(distinct, fresh, strict=True))
        return [by_kind[kind] for kind in kinds]
    return list(jax.eval_shape(definition.init_state, tuple(params)).param_states)


def refuse_copies(step: Any) -> None:
    """Refuse what was saved from a replicated optimizer.

    Raises:
      CheckpointError: the step is not a single number.
    """
    if np.shape(step) != ():
        raise CheckpointError(
            f"its step has shape {np.shape(step)}: it was saved with a copy for every device."
            " Restore it in your program, take one copy with flax.jax_utils.unreplicate, and save"
            " that."
        )

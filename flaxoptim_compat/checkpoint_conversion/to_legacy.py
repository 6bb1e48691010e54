"""A TrainState in a checkpoint as an Optimizer of flax.optim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat.bridge.definition import Assignment
from flaxoptim_compat.checkpoint_contents.fields import WEIGHT_NORM_STATE
from flaxoptim_compat.checkpoint_contents.optax_states import Moments, left_over, moments
from flaxoptim_compat.checkpoint_contents.recognise import FoundOptimizer, number
from flaxoptim_compat.checkpoint_conversion.choice import Choice
from flaxoptim_compat.checkpoint_conversion.states import refuse_copies, restored_states
from flaxoptim_compat.checkpoint_conversion.stored_trees import plain, small_array
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, is_index
from flaxoptim_compat.checkpoint_files.trees import TreePath, at, replaced
from flaxoptim_compat.optim.legacy_loop import LegacyLoop, formula_of
from flaxoptim_compat.transforms.weight_norm import WeightNormState


def legacy_dict(optimizer: FoundOptimizer, params: Any, choice: Choice) -> dict[str, Any]:
    """The state dict of the Optimizer that does what a TrainState does.

    Raises:
      ValueError: the optax state does not fit the definition; the message names the place.
    """
    opt_state = optimizer.node["opt_state"]
    all_moments = moments(opt_state)
    _refuse_left_over(left_over(opt_state))
    refuse_scaled_momentum(all_moments, opt_state)
    paths = sorted(parameter.path for parameter in optimizer.parameters)
    leaves, treedef = jax.tree.flatten(params)
    states: list[Any] = [None] * len(paths)
    used: set[Moments] = set()
    for part in choice.assignments:
        formula = formula_of(part.definition)
        normed = WeightNormState in formula.state_fields
        fitting = [each for each in all_moments if each.weight_norm == normed]
        fresh = _fresh_entries(part, leaves)
        for index, entry in zip(part.leaves, fresh, strict=True):
            own_moments = [each for each in fitting if each.covers(paths[index])]
            _refuse_other_moments(own_moments, part, formula, paths[index])
            states[index] = plain(_with_moments(entry, own_moments, paths[index]))
            used.update(own_moments)
    _refuse_moments_of_frozen(choice.assignments, all_moments, paths)
    unused = [each for each in all_moments if each not in used]
    _refuse_left_over([each.path for each in unused if each.holds_anything()])
    param_states = serialization.to_state_dict(jax.tree.unflatten(treedef, states))
    restored_states(params, param_states, choice)
    step = _step(optimizer, [each for each in all_moments if each in used])
    return {"target": params, "state": {"step": step, "param_states": param_states}}


def _fresh_entries(part: Assignment, leaves: Sequence[Any]) -> list[Any]:
    """The state dicts of small parameters before the first step, for fields not kept by optax."""
    if isinstance(formula_of(part.definition), LegacyLoop):
        return [{}] * len(part.leaves)
    own_leaves = tuple(map(small_array, part.pick(leaves)))
    return [*map(serialization.to_state_dict, part.definition.init_state(own_leaves).param_states)]


def _refuse_other_moments(
    own_moments: Sequence[Moments], part: Assignment, formula: Any, path: TreePath
) -> None:
    """Refuse the moments of a parameter if its definition has other ones."""
    nodes = [frozenset(each.node) for each in own_moments]
    known = {frozenset(kind._fields) for kind in formula.state_fields}
    needed = {WEIGHT_NORM_STATE} & known
    if len(known & {*nodes}) < len(nodes) or (known and not nodes) or not needed <= {*nodes}:
        fields = ", ".join(field for each in own_moments for field in each.fields)
        raise CheckpointError(
            f"the parameter {'/'.join(path)} has {fields or 'no moments'} in the optax state, which"
            f" does not fit {type(part.definition).__name__}. Name the optimizer that the program"
            " had with --optimizer or --definition."
        )


def _with_moments(entry: Any, own_moments: Sequence[Moments], path: TreePath) -> Any:
    """The state dict of a parameter with its moments, each in its place in the legacy state."""
    # A bias has an empty tuple as its scale; orbax before 0.7 writes None for an empty tuple.
    is_bias = isinstance(entry.get("scale"), Mapping)
    for each in own_moments:
        for tree, legacy in each.trees.items():
            value = at(each.node, (*tree, *path))
            if is_bias and legacy == ("scale",):
                value = value or {}
            elif is_bias and tree[-1] == "scale":
                continue
            elif value is None:
                raise CheckpointError(
                    f"a moment of the parameter {'/'.join(path)} is missing. Use a complete"
                    " checkpoint."
                )
            entry = replaced(entry, legacy, value)
    return entry


def _step(optimizer: FoundOptimizer, used: Sequence[Moments]) -> Any:
    """The step as an int32 scalar, as in legacy optimizers."""
    counts = [each.node["count"] for each in used if "count" in each.node]
    step = optimizer.node.get("step", counts[0] if counts else None)
    if number(step) is None:
        raise CheckpointError(
            "the checkpoint has no number 'step', and the moments have no count, so the number of"
            " steps done is not known. Save the whole TrainState, with its step."
        )
    refuse_copies(step)
    others = [number(count) for count in counts if not np.array_equal(number(count), number(step))]
    if others:
        raise CheckpointError(
            f"the step is {number(step)}, but the count of the moments is {others[0]}. A legacy"
            " optimizer has one step for both. Set both to the number of updates in your program,"
            " and save the checkpoint again."
        )
    if getattr(step, "dtype", None) == np.int32:
        return step
    return np.asarray(number(step), np.int32)


def _refuse_moments_of_frozen(
    assignments: Sequence[Assignment], all_moments: Sequence[Moments], paths: Sequence[TreePath]
) -> None:
    moved = {index for each in assignments for index in each.leaves}
    for index, path in enumerate(paths):
        if index not in moved and any(each.covers(path) for each in all_moments):
            raise CheckpointError(
                f"the definition does not move the parameter {'/'.join(path)}, but there are"
                " moments for it. Give the definition of the program that saved the checkpoint."
            )


def _refuse_left_over(paths: Sequence[TreePath]) -> None:
    if paths:
        first = "/".join(paths[0])
        raise CheckpointError(
            f"a legacy checkpoint has no place for opt_state/{first}, which belongs to a"
            " transformation that no optimizer of flax.optim has. Take the transformation out of"
            " the chain in your program, and save the checkpoint again."
        )


def refuse_scaled_momentum(all_moments: Sequence[Moments], opt_state: Mapping[str, Any]) -> None:
    """Refuse a momentum behind the learning rate in its chain, as in ``optax.lars``."""
    for each in all_moments:
        if each.fields == ("trace",) and _ends_the_chain(opt_state, each.path):
            raise CheckpointError(
                f"the momentum at opt_state/{'/'.join(each.path)} is the last part of its chain, as"
                " in optax.lars. Such a momentum contains the learning rate and the sign of the"
                " update, and no momentum of flax.optim does. Restore the parameters alone, and"
                " start the optimizer afresh."
            )


def _ends_the_chain(opt_state: Mapping[str, Any], path: TreePath) -> bool:
    for depth, name in enumerate(path):
        chain = at(opt_state, path[:depth])
        if all(map(is_index, chain)) and int(name) < len(chain) - 1:
            return False
    return True

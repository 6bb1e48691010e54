"""A TrainState in a checkpoint as an Optimizer of flax.optim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat.bridge.definition import Assignment
from flaxoptim_compat.checkpoint_contents.fields import OPTAX_STATES, WEIGHT_NORM_STATE
from flaxoptim_compat.checkpoint_contents.optax_states import Moments, left_over, moments
from flaxoptim_compat.checkpoint_contents.recognise import FoundOptimizer, number
from flaxoptim_compat.checkpoint_conversion.choice import Choice
from flaxoptim_compat.checkpoint_conversion.states import refuse_copies, restored_states
from flaxoptim_compat.checkpoint_conversion.stored_trees import plain, small_array
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, is_index
from flaxoptim_compat.checkpoint_files.trees import Path, at
from flaxoptim_compat.optim.legacy_loop import LegacyLoop, formula_of
from flaxoptim_compat.transforms.weight_norm import WeightNormState


def legacy_dict(found: FoundOptimizer, params: Any, choice: Choice) -> dict[str, Any]:
    """The state dict of the Optimizer that does what a TrainState does.

    An optax state that does not fit the definition is a ValueError, which says where.
    """
    opt_state = found.node["opt_state"]
    everything = moments(opt_state)
    _refuse_left_over(left_over(opt_state))
    refuse_scaled_momentum(everything, opt_state)
    paths = sorted(parameter.path for parameter in found.parameters)
    leaves, treedef = jax.tree.flatten(params)
    states: list[Any] = [None] * len(paths)
    used: set[Moments] = set()
    for each in choice.assignments:
        formula = formula_of(each.definition)
        normed = WeightNormState in formula.state_fields
        fitting = [one for one in everything if one.weight_norm == normed]
        fresh = _fresh_entries(each, leaves)
        for index, entry in zip(each.leaves, fresh, strict=True):
            mine = [one for one in fitting if one.covers(paths[index])]
            _refuse_others(mine, each, formula, paths[index])
            states[index] = plain(_with_moments(entry, mine, paths[index]))
            used.update(mine)
    _refuse_moments_of_frozen(choice.assignments, everything, paths)
    unused = [one for one in everything if one not in used]
    _refuse_left_over([one.path for one in unused if one.holds_anything()])
    param_states = serialization.to_state_dict(jax.tree.unflatten(treedef, states))
    restored_states(params, param_states, choice)
    step = _step(found, [one for one in everything if one in used])
    return {"target": params, "state": {"step": step, "param_states": param_states}}


def _fresh_entries(assignment: Assignment, leaves: Sequence[Any]) -> list[Any]:
    """The state dicts of parameters before the first step, small, for what optax does not keep."""
    if isinstance(formula_of(assignment.definition), LegacyLoop):
        return [{}] * len(assignment.leaves)
    mine = tuple(small_array(leaves[index]) for index in assignment.leaves)
    return [*map(serialization.to_state_dict, assignment.definition.init_state(mine).param_states)]


def _refuse_others(
    mine: Sequence[Moments], assignment: Assignment, formula: Any, path: Path
) -> None:
    """Refuse moments that a definition does not have, or has more of."""
    nodes = [frozenset(one.node) for one in mine]
    known = {frozenset(kind._fields) for kind in formula.state_fields}
    needed = {WEIGHT_NORM_STATE} & known
    if len(known & {*nodes}) < len(nodes) or (known and not nodes) or not needed <= {*nodes}:
        fields = ", ".join(field for one in mine for field in one.fields)
        raise CheckpointError(
            f"the parameter {'/'.join(path)} has {fields or 'no moments'} in the optax state, which"
            f" does not fit {type(assignment.definition).__name__}."
        )


def _with_moments(entry: Any, mine: Sequence[Moments], path: Path) -> Any:
    """The state dict of a parameter with its moments, each in the field that the table names."""
    entry = dict(entry)
    # A bias has an empty tuple as its scale, for which orbax before 0.7 writes None.
    is_bias = isinstance(entry.get("scale"), Mapping)
    factors = ["direction"] if is_bias else ["direction", "scale"]
    for one in mine:
        names = frozenset(one.node)
        if names == WEIGHT_NORM_STATE:
            entry |= {factor: _moment(one.node[factor], path) for factor in factors}
            if is_bias:
                entry["scale"] = at(one.node["scale"], path) or {}
            continue
        for field, legacy in OPTAX_STATES[names].items():
            if one.weight_norm:
                for factor in factors:
                    value = _moment(one.node[field][factor], path)
                    state = f"{factor}_state"
                    entry[state] = {**entry[state], legacy: value}
            elif legacy:
                entry[legacy] = _moment(one.node[field], path)
            else:
                entry = _moment(one.node[field], path)
    return entry


def _moment(tree: Any, path: Path) -> Any:
    value = at(tree, path)
    if value is None:
        raise CheckpointError(f"a moment of the parameter {'/'.join(path)} is missing.")
    return value


def _step(found: FoundOptimizer, used: Sequence[Moments]) -> Any:
    """The step, as the int32 scalar that legacy optimizers have."""
    counts = [one.node["count"] for one in used if "count" in one.node]
    step = found.node.get("step", counts[0] if counts else None)
    if number(step) is None:
        raise CheckpointError(
            "it has no number 'step', and its moments have no count: how many steps were done is"
            " not known. Save a TrainState that has one."
        )
    refuse_copies(step)
    others = [number(count) for count in counts if not np.array_equal(number(count), number(step))]
    if others:
        raise CheckpointError(
            f"its step is {number(step)}, but the count of its moments is {others[0]}. A legacy"
            " optimizer has one step for both. Set both to the number of updates in your program,"
            " and save it again."
        )
    if getattr(step, "dtype", None) == np.int32:
        return step
    return np.asarray(number(step), np.int32)


def _refuse_moments_of_frozen(
    assignments: Sequence[Assignment], everything: Sequence[Moments], paths: Sequence[Path]
) -> None:
    moved = {index for each in assignments for index in each.leaves}
    for index, path in enumerate(paths):
        if index not in moved and any(one.covers(path) for one in everything):
            raise CheckpointError(
                f"the definition does not move the parameter {'/'.join(path)}, but it has moments."
            )


def _refuse_left_over(paths: Sequence[Path]) -> None:
    if paths:
        first = "/".join(paths[0])
        raise CheckpointError(
            f"a legacy checkpoint has no place for opt_state/{first}. The transformation that"
            " keeps it is no part of any optimizer of flax.optim: take it out of the chain in"
            " your program, and save again."
        )


def refuse_scaled_momentum(everything: Sequence[Moments], opt_state: Mapping[str, Any]) -> None:
    """Refuse the momentum of ``optax.lars`` and the like, which comes after the learning rate."""
    for one in everything:
        if one.fields == ("trace",) and _ends_the_chain(opt_state, one.path):
            raise CheckpointError(
                f"the momentum at opt_state/{'/'.join(one.path)} is the last part of its chain, as"
                " in optax.lars: it has the learning rate and the sign of the update in it, which"
                " no momentum of flax.optim has."
            )


def _ends_the_chain(opt_state: Mapping[str, Any], path: Path) -> bool:
    for depth, name in enumerate(path):
        chain = at(opt_state, path[:depth])
        if all(map(is_index, chain)) and int(name) < len(chain) - 1:
            return False
    return True

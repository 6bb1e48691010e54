"""A TrainState in a checkpoint as an Optimizer of flax.optim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat.bridge.definition import Assignment
from flaxoptim_compat.checkpoint_contents.optax_states import Moments, left_over, moments
from flaxoptim_compat.checkpoint_contents.recognise import (
    FoundOptimizer,
    Path,
    at,
    number,
)
from flaxoptim_compat.checkpoint_conversion.choice import Choice
from flaxoptim_compat.checkpoint_conversion.placeholders import Placeholders, small_array
from flaxoptim_compat.checkpoint_conversion.states import refuse_copies, restored_states
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, is_index
from flaxoptim_compat.optim.legacy_loop import LegacyLoop, formula_of
from flaxoptim_compat.optim.weight_norm import WeightNorm
from flaxoptim_compat.transforms.weight_norm import WeightNormState


def legacy_dict(
    found: FoundOptimizer, params: Any, choice: Choice, placeholders: Placeholders
) -> dict[str, Any]:
    """The state dict of the Optimizer that does what a TrainState does.

    Args:
      found: the TrainState.
      params: its parameters, of placeholders.
      choice: what moves which parameter.
      placeholders: takes the arrays.

    Raises:
      ValueError: the optax state does not fit the definition; the message says where.
    """
    opt_state = found.node["opt_state"]
    everything = moments(opt_state)
    _refuse_left_over(left_over(opt_state))
    refuse_scaled_momentum(everything, opt_state)
    paths = sorted(parameter.path for parameter in found.parameters)
    states: list[Any] = [None] * len(paths)
    used: set[int] = set()
    for each in choice.assignments:
        for group, leaves in _by_moments(each, everything, paths).items():
            mine = [everything[index] for index in group]
            part = _Part(each, mine, leaves, [paths[index] for index in leaves])
            used.update(group)
            for index, state in zip(leaves, part.states(params, placeholders), strict=True):
                states[index] = state
    _refuse_moments_of_frozen(choice.assignments, everything, paths)
    unused = [one for index, one in enumerate(everything) if index not in used]
    _refuse_left_over([one.path for one in unused if one.holds_anything()])
    param_states = serialization.to_state_dict(
        jax.tree.unflatten(jax.tree.structure(params), states)
    )
    restored_states(params, param_states, choice)
    step = placeholders.put(_step(found, [everything[index] for index in sorted(used)]))
    return {"target": params, "state": {"step": step, "param_states": param_states}}


class _Part(NamedTuple):
    """Parameters of one definition whose moments stand together, and their numbers and paths."""

    assignment: Assignment
    moments: Sequence[Moments]
    leaves: Sequence[int]
    paths: Sequence[Path]

    def states(self, params: Any, placeholders: Placeholders) -> list[Any]:
        """Their legacy states."""
        formula = formula_of(self.assignment.definition)
        # Classes of named tuples.
        fields_of_state: Mapping[Any, Any] = formula.state_fields
        nodes = {
            kind: kind(**placeholders.put(one.node))
            for one in self.moments
            for kind in fields_of_state
            if set(kind._fields) == set(one.node)
        }
        needed = {WeightNormState} & set(fields_of_state) - set(nodes)
        if len(nodes) < len(self.moments) or (fields_of_state and not nodes) or needed:
            fields = ", ".join(field for one in self.moments for field in one.fields)
            raise CheckpointError(
                f"the parameter {'/'.join(self.paths[0])} has {fields or 'no moments'} in the"
                f" optax state, which does not fit {type(self.assignment.definition).__name__}."
            )
        before = [()] * len(self.leaves)
        if not isinstance(formula, LegacyLoop):
            before = self._before(jax.tree.leaves(params))
        states: list[Any] = formula.from_optax(nodes, before, self._pick)
        return states

    def _before(self, every: Sequence[Any]) -> list[Any]:
        """States for what optax does not keep, such as a moment that is not in use."""
        mine = tuple(small_array(every[index]) for index in self.leaves)
        return list(self.assignment.definition.init_state(mine).param_states)

    def _pick(self, tree: Any) -> list[Any]:
        values = [at(tree, path) for path in self.paths]
        if isinstance(self.assignment.definition, WeightNorm):
            # The scale of a bias is a tuple of nothing, for which orbax before 0.7 writes None.
            # In a damaged file anything may stand in the place of the tree that holds it.
            holders = [at(tree, path[:-1]) for path in self.paths]
            values = [
                () if value is None and isinstance(held, Mapping) and path[-1] in held else value
                for value, held, path in zip(values, holders, self.paths, strict=True)
            ]
        for path, value in zip(self.paths, values, strict=True):
            if value is None:
                raise CheckpointError(f"a moment of the parameter {'/'.join(path)} is missing.")
        return values


def _by_moments(
    each: Assignment, everything: Sequence[Moments], paths: Sequence[Path]
) -> dict[tuple[int, ...], list[int]]:
    """The leaves of an assignment, by the moments that they have a part in."""
    groups: dict[tuple[int, ...], list[int]] = {}
    normed = WeightNormState in formula_of(each.definition).state_fields
    for leaf in each.leaves:
        covering = tuple(
            index
            for index, one in enumerate(everything)
            if one.weight_norm == normed and one.covers(paths[leaf])
        )
        groups.setdefault(covering, []).append(leaf)
    return groups


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

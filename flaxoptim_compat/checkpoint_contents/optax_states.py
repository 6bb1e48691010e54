"""The state of an optax transformation, and the places of the moments in the state."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from flaxoptim_compat.checkpoint_contents.fields import (
    OPTAX_KINDS,
    OPTAX_STATES,
    WEIGHT_NORM_STATE,
    OptimizerKind,
)
from flaxoptim_compat.checkpoint_files.stored import StoredArray
from flaxoptim_compat.checkpoint_files.trees import TreePath, at, leaves_of, mappings_in

_FACTORS = ("direction", "scale")
_INJECTED = {"count", "hyperparams", "inner_state"}


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """A named tuple of an optax state that holds a value for every parameter of an optimizer.

    Args:
      path: the path of the named tuple in the optax state.
      node: its fields by name.
      trees: the paths in it of trees like the parameters, each with the path of the same values in
        the legacy state of a parameter.
      weight_norm: whether it is inside ``weight_norm``, and has directions and scales.
    """

    path: TreePath
    node: Mapping[str, Any]
    trees: Mapping[TreePath, TreePath]
    weight_norm: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields with trees like the parameters."""
        return tuple(dict.fromkeys(field for field, *_ in self.trees))

    def covers(self, parameter: TreePath) -> bool:
        """True if the moments have values for this parameter."""
        value = at(self.node, (*next(iter(self.trees)), *parameter))
        # In place of a masked parameter there is an empty named tuple, or None in orbax.
        if isinstance(value, Mapping):
            return self.fields == ("param_states",) and len(value) > 0
        return value is not None

    def holds_anything(self) -> bool:
        """True if the moments have values for any parameter."""
        values = (leaf for field in self.fields for _, leaf in leaves_of(self.node[field]))
        return any(value is not None for value in values)


def _trees(names: frozenset[str], weight_norm: bool) -> dict[TreePath, TreePath]:
    """The trees of moments, from the names of the fields."""
    if names == WEIGHT_NORM_STATE:
        return {(factor,): (factor,) for factor in _FACTORS}
    fields: dict[TreePath, TreePath] = {
        (field,): (legacy,) if legacy else () for field, legacy in OPTAX_STATES[names].items()
    }
    if not weight_norm:
        return fields
    return {
        (*field, factor): (f"{factor}_state", *legacy)
        for field, legacy in fields.items()
        for factor in _FACTORS
    }


def moments(opt_state: Any) -> list[Moments]:
    """All moments in an optax state, in the order of the state."""
    return [each for each in _walk(opt_state, (), False) if isinstance(each, Moments)]


def left_over(opt_state: Any) -> list[TreePath]:
    """The paths of arrays in an optax state that are no moments, no counts and no rates."""
    return [each for each in _walk(opt_state, (), False) if not isinstance(each, Moments)]


def _walk(node: Any, path: TreePath, weight_norm: bool) -> Iterator[Moments | TreePath]:
    if isinstance(node, StoredArray | int | float | complex):
        if path[-1:] != ("count",):
            yield path
        return
    if not isinstance(node, Mapping):
        return
    names = frozenset(node)
    weight_norm = weight_norm or names == WEIGHT_NORM_STATE
    if names == WEIGHT_NORM_STATE or names in OPTAX_STATES:
        yield Moments(path, node, _trees(names, weight_norm), weight_norm)
    if names == WEIGHT_NORM_STATE or names >= _INJECTED:
        yield from _walk(node["inner_state"], (*path, "inner_state"), weight_norm)
    elif names not in OPTAX_STATES:
        for name, child in node.items():
            yield from _walk(child, (*path, name), weight_norm)


def kind_of_moments(all_moments: list[Moments], parameter: TreePath) -> OptimizerKind | None:
    """The kind of optimizer that moves a parameter; None if only other parameters have moments."""
    covering = [each for each in all_moments if each.covers(parameter)]
    if all_moments and not covering:
        return None
    weight_norm = any(frozenset(each.node) == WEIGHT_NORM_STATE for each in covering)
    inner = [each for each in covering if frozenset(each.node) != WEIGHT_NORM_STATE]
    states = frozenset(tuple(sorted(each.node)) for each in inner)
    repeated = len(states) < len(inner)
    names = () if repeated else OPTAX_KINDS.get(states, ())
    fields = tuple(field for each in inner for field in each.fields)
    return OptimizerKind(names, weight_norm, fields)


def injected(opt_state: Any) -> list[Mapping[str, Any]]:
    """The states of ``inject_hyperparams`` in an optax state, one for each optimizer."""
    if not isinstance(opt_state, Mapping):
        return []
    if set(opt_state) >= _INJECTED and isinstance(opt_state["hyperparams"], Mapping):
        return [opt_state]
    return [state for child in opt_state.values() for state in injected(child)]


def with_inner_states(opt_state: Any) -> Any:
    """The state with each empty ``inner_state`` added, because NNX leaves out empty nodes."""
    names = frozenset(opt_state) if isinstance(opt_state, Mapping) else WEIGHT_NORM_STATE
    # Moments have trees like the parameters below them, whose names may be anything.
    if names in OPTAX_STATES or names == WEIGHT_NORM_STATE:
        return opt_state
    if names == {*_FACTORS}:
        return {**opt_state, "inner_state": {}}
    children = {name: with_inner_states(child) for name, child in opt_state.items()}
    is_injected = {"count", "hyperparams"} <= set(children)
    return {"inner_state": {}, **children} if is_injected else children


def may_be_frozen_or_not(opt_state: Any, kinds: Collection[OptimizerKind | None]) -> bool:
    """True if parameters without moments may be frozen, or moved by GradientDescent, or both.

    Args:
      opt_state: the optax state.
      kinds: the kind of each parameter, from ``kind_of_moments``.
    """
    parts = injected(opt_state)
    if parts and all(moments(part["inner_state"]) for part in parts):
        # A state of to_train_state, and no part of it is GradientDescent.
        return False
    is_masked = any(set(node) == {"inner_state"} for node in mappings_in(opt_state))
    return None in kinds or (is_masked and not moments(opt_state))

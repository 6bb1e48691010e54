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
from flaxoptim_compat.checkpoint_files.trees import TreePath, mappings_in

_FACTORS = {"direction", "scale"}
_INJECTED = {"count", "hyperparams", "inner_state"}


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """A named tuple of an optax state that holds a value for every parameter of an optimizer.

    Args:
      path: the path of the named tuple in the optax state.
      node: its fields by name.
      fields: the names of the fields that are trees like the parameters.
      weight_norm: whether it is inside ``weight_norm``, and has directions and scales.
    """

    path: TreePath
    node: Mapping[str, Any]
    fields: tuple[str, ...]
    weight_norm: bool

    def covers(self, parameter: TreePath) -> bool:
        """True if the moments have values for this parameter."""
        tree = self.node[self.fields[0]]
        if self.weight_norm and frozenset(self.node) != WEIGHT_NORM_STATE:
            trees = [self.node[field] for field in self.fields]
            if not all(isinstance(each, Mapping) and set(each) >= _FACTORS for each in trees):
                return False
            tree = tree["direction"]
        for name in parameter:
            if not isinstance(tree, Mapping) or name not in tree:
                return False
            tree = tree[name]
        # In place of a masked parameter there is an empty named tuple, or None in orbax.
        if tree is None or (self.fields == ("param_states",) and not tree):
            return False
        return not isinstance(tree, Mapping) or self.fields == ("param_states",)

    def holds_anything(self) -> bool:
        """True if the moments have values for any parameter."""
        return any(_has_arrays(self.node[field]) for field in self.fields)


def _has_arrays(tree: Any) -> bool:
    if isinstance(tree, Mapping):
        return any(map(_has_arrays, tree.values()))
    return tree is not None


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
    if names == WEIGHT_NORM_STATE:
        yield Moments(path, node, ("direction", "scale"), True)
        yield from _walk(node["inner_state"], (*path, "inner_state"), True)
    elif names in OPTAX_STATES:
        yield Moments(path, node, tuple(OPTAX_STATES[names]), weight_norm)
    elif names >= _INJECTED:
        yield from _walk(node["inner_state"], (*path, "inner_state"), weight_norm)
    else:
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
    if names == _FACTORS:
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

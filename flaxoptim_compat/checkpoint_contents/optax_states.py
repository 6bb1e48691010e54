"""The state of an optax transformation: where in it the moments of the parameters are."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from flaxoptim_compat.checkpoint_contents.fields import (
    OPTAX_KINDS,
    OPTAX_STATES,
    WEIGHT_NORM_STATE,
    Kind,
)
from flaxoptim_compat.checkpoint_files.stored import StoredArray
from flaxoptim_compat.checkpoint_files.trees import Path

_FACTORS = {"direction", "scale"}
_INJECTED = {"count", "hyperparams", "inner_state"}


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """A named tuple of an optax state that holds a value for every parameter that it moves.

    Args:
      path: where in the optax state it stands.
      node: its fields by name.
      fields: the names of those that are trees like the parameters.
      weight_norm: whether it is inside ``weight_norm``, and has directions and scales.
    """

    path: Path
    node: Mapping[str, Any]
    fields: tuple[str, ...]
    weight_norm: bool

    def covers(self, parameter: Path) -> bool:
        """True if the moments have values for this parameter."""
        tree = self.node[self.fields[0]]
        if self.weight_norm and frozenset(self.node) != WEIGHT_NORM_STATE:
            factors = [self.node[field] for field in self.fields]
            if not all(isinstance(each, Mapping) and set(each) >= _FACTORS for each in factors):
                return False
            tree = tree["direction"]
        for name in parameter:
            if not isinstance(tree, Mapping) or name not in tree:
                return False
            tree = tree[name]
        # What stands in place of a masked parameter: an empty named tuple, or None in orbax.
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
    """All such named tuples of an optax state, in its order."""
    return [each for each in _walk(opt_state, (), False) if isinstance(each, Moments)]


def left_over(opt_state: Any) -> list[Path]:
    """The paths of arrays in an optax state that are neither moments, nor counts or rates."""
    return [each for each in _walk(opt_state, (), False) if not isinstance(each, Moments)]


def _walk(node: Any, path: Path, weight_norm: bool) -> Iterator[Moments | Path]:
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


def kind_of_moments(found: list[Moments], parameter: Path) -> Kind | None:
    """The kind of optimizer that moves a parameter; None if only others have moments."""
    mine = [each for each in found if each.covers(parameter)]
    if found and not mine:
        return None
    weight_norm = any(frozenset(each.node) == WEIGHT_NORM_STATE for each in mine)
    inner = [each for each in mine if frozenset(each.node) != WEIGHT_NORM_STATE]
    states = frozenset(tuple(sorted(each.node)) for each in inner)
    repeated = len(states) < len(inner)
    names = () if repeated else OPTAX_KINDS.get(states, ())
    return Kind(names, weight_norm, tuple(field for each in inner for field in each.fields))


def injected(opt_state: Any) -> list[Mapping[str, Any]]:
    """The states of ``inject_hyperparams`` in an optax state, one for each optimizer in it."""
    if not isinstance(opt_state, Mapping):
        return []
    if set(opt_state) >= _INJECTED and isinstance(opt_state["hyperparams"], Mapping):
        return [opt_state]
    return [each for child in opt_state.values() for each in injected(child)]


def with_inner_states(opt_state: Any) -> Any:
    """The same state with each ``inner_state`` that is empty; NNX leaves out what is."""
    names = frozenset(opt_state) if isinstance(opt_state, Mapping) else WEIGHT_NORM_STATE
    # Below are trees like the parameters, which may be called anything.
    if names in OPTAX_STATES or names == WEIGHT_NORM_STATE:
        return opt_state
    if names == _FACTORS:
        return {**opt_state, "inner_state": {}}
    children = {name: with_inner_states(child) for name, child in opt_state.items()}
    is_injected = {"count", "hyperparams"} <= set(children)
    return {"inner_state": {}, **children} if is_injected else children


def may_be_frozen_or_not(opt_state: Any, kinds: Collection[Kind | None]) -> bool:
    """True if parameters without moments may be frozen, or moved by GradientDescent, or both.

    Args:
      opt_state: the optax state.
      kinds: what ``kind_of_moments`` says of all parameters.
    """
    parts = injected(opt_state)
    if parts and all(moments(part["inner_state"]) for part in parts):
        # As to_train_state makes it, and no part of it is GradientDescent.
        return False
    return None in kinds or (not moments(opt_state) and _is_masked(opt_state))


def _is_masked(node: Any) -> bool:
    if not isinstance(node, Mapping):
        return False
    return set(node) == {"inner_state"} or any(map(_is_masked, node.values()))

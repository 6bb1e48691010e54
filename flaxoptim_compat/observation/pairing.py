"""The optimizers of a run elsewhere, and those of a run here that have the same parameters.

The program may be another one: the same one of today, or one that somebody migrated by hand, whose
parameters have other names, and stand in another order.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flaxoptim_compat.observation.fingerprints import Fingerprint
from flaxoptim_compat.observation.records import ObservedState, OptimizerKey, Record
from flaxoptim_compat.observation.trajectories import apart

# What stands before, or behind, the same parameters in one kind of state, and not in another.
_AROUND = re.compile(r"^(?:(?:params|model)/)*|/(?:value|raw_value)$")


class Pairing(NamedTuple):
    """Two optimizers that are taken for the same.

    Args:
      then: the optimizer of the run elsewhere.
      now: that of the run here.
      same_paths: how many parameters have the same path, but for what stands around them; the
        others have the same shape, and the nearest numbers at the start.
    """

    then: OptimizerKey
    now: OptimizerKey
    same_paths: int


def paired(then: Record, now: Record) -> tuple[Record, tuple[Pairing, ...]]:
    """The run here with its optimizers and parameters named as elsewhere, and the pairs.

    An optimizer that has no partner stays as it is.
    """
    orders = {
        Pairing(old, new, same): (order, old.program == new.program)
        for old, states in then.states.items()
        for new, others in now.states.items()
        for order, same in [_order(states[0], others[0])]
        if order is not None
    }
    chosen: dict[Pairing, list[int]] = {}
    for pair, (order, _) in sorted(
        orders.items(), key=lambda item: (item[0].same_paths, item[1][1]), reverse=True
    ):
        if not any(pair.then == each.then or pair.now == each.now for each in chosen):
            chosen[pair] = order
    states, places = dict(now.states), dict(now.places)
    for pair, order in chosen.items():
        states[pair.then] = [_named(each, pair.then, order) for each in states.pop(pair.now)]
        places[pair.then.paths] = now.places.get(pair.now.paths, set())
    return dataclasses.replace(now, states=states, places=places), tuple(chosen)


def _order(then: ObservedState, now: ObservedState) -> tuple[Any, int]:
    """For each leaf elsewhere, the number of the leaf here; None if some have no partner."""
    old, new = then.optimizer, now.optimizer
    if sorted(old.shapes) != sorted(new.shapes):
        return None, 0
    names = list(zip(map(_bare, new.paths), new.shapes, strict=True))
    order: list[int | None] = []
    free = set(range(len(names)))
    for each in zip(map(_bare, old.paths), old.shapes, strict=True):
        found = next((index for index in sorted(free) if names[index] == each), None)
        free -= {found}
        order.append(found)
    same = sum(index is not None for index in order)
    for place, index in enumerate(order):
        if index is None:
            like = [each for each in free if new.shapes[each] == old.shapes[place]]
            order[place] = min(like, key=lambda each: _distance(then, now, place, each))
            free -= {order[place]}
    return order, same


def _bare(path: str) -> str:
    return _AROUND.sub("", path)


def _distance(then: ObservedState, now: ObservedState, old: int, new: int) -> float:
    if not (then.leaves and now.leaves):
        return abs(old - new)
    return apart(then.leaves[old], now.leaves[new])[0]


def _named(state: ObservedState, optimizer: OptimizerKey, order: Sequence[int]) -> ObservedState:
    leaves: list[Fingerprint] = [state.leaves[index] for index in order] if state.leaves else []
    is_same = list(order) == sorted(order)
    # The hash is that of the leaves in their order.
    bits = state.bits if is_same or state.bits is None else f"{state.bits} in another order"
    own = state.optimizer.paths
    names = {own[index]: path for index, path in zip(order, optimizer.paths, strict=True)}
    moments = [[_renamed(each, names) for each in several] for several in state.moments]
    return dataclasses.replace(
        state, optimizer=optimizer, leaves=leaves, bits=bits, moments=moments
    )


def _renamed(moment: Fingerprint, names: Mapping[str, str]) -> Fingerprint:
    """A moment by the name of its parameter elsewhere."""
    parameter = parameter_of(moment.path, names)
    if not parameter:
        return moment
    path = f"/{moment.path}/".replace(f"/{parameter}/", f"/{names[parameter]}/", 1)
    return moment._replace(path=path.strip("/"))


def parameter_of(path: str, parameters: Iterable[str]) -> str | None:
    """The parameter whose path is a part of the path of a moment."""
    inside = [each for each in parameters if f"/{each}/" in f"/{path}/" or not each]
    return max(inside, key=len, default=None)

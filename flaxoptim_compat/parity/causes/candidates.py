"""The mistakes that may have been made in a definition, alone and in pairs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flaxoptim_compat import optim
from flaxoptim_compat.parity.causes.context import Legacy
from flaxoptim_compat.parity.causes.mistake import Mistake
from flaxoptim_compat.parity.causes.mistaken import (
    RAW,
    Address,
    parts_of,
    with_adapted_state,
    with_mistakes,
)
from flaxoptim_compat.parity.causes.mistakes import KNOWN
from flaxoptim_compat.parity.causes.recipe import recipe_of

_REMEDY = "optimizer.to_train_state(), which takes the moments and the step along"

# What gets lost when a run is moved over to optax on the way. ``subject_of`` makes these: they are
# in the state, and in no optimizer.
FRESH = Mistake(
    "moments-dropped",
    (),
    says="starts with new moments and at step 0; the Optimizer goes on with those that it has",
    remedy=_REMEDY,
    slot="state",
)
RESTARTED = Mistake(
    "step-restarted",
    (),
    says=(
        "has the moments of the Optimizer but counts its steps from 0; the Optimizer goes on"
        " counting"
    ),
    remedy=_REMEDY,
    slot="state",
)


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """A mistake, and in which parts of the definition it is made.

    Args:
      key: that of the mistake.
      by_place: the mistake as it is of each part; they may be of several classes.
      everywhere: whether those are all parts that it can be made in.
    """

    key: str
    by_place: Mapping[Address, Mistake]
    everywhere: bool = True

    @property
    def mistake(self) -> Mistake:
        """The mistake, for its texts."""
        return next(iter(self.by_place.values()))


Variant = tuple[Candidate, ...]


def candidates(legacy: Legacy, known: Sequence[Mistake]) -> list[Candidate]:
    """The mistakes that can have been made, one by one.

    Args:
      legacy: the side that is known.
      known: the mistakes to think of.
    """
    parts = parts_of(legacy.definition)
    single: list[Candidate] = []
    for key in dict.fromkeys(each.key for each in known):
        options: dict[Address, list[Mistake]] = {}
        for place, part in parts:
            recipe = recipe_of(part)
            mine = [each for each in known if each.key == key and each.concerns(recipe)]
            if mine:
                options[place] = mine
        single += _placed(key, options)
    if isinstance(legacy.definition, optim.MultiOptimizer):
        single.append(Candidate(RAW.key, {(): RAW}))
    if legacy.steps:
        single += [Candidate(each.key, {(): each}) for each in (FRESH, RESTARTED)]
    return single


def _placed(key: str, options: Mapping[Address, list[Mistake]]) -> Iterator[Candidate]:
    """A mistake in every part that knows it; then in each of these alone."""
    for index in range(max(map(len, options.values()), default=0)):
        chosen = {place: mine[min(index, len(mine) - 1)] for place, mine in options.items()}
        yield Candidate(key, chosen)
        if len(chosen) > 1:
            for place, each in chosen.items():
                yield Candidate(key, {place: each}, everywhere=False)


def pairs(single: Sequence[Candidate]) -> Iterator[Variant]:
    """Two mistakes at once, neither of which excludes the other."""
    for pair in itertools.combinations(single, 2):
        slots = [
            {(place, each.slot or each.key) for place, each in one.by_place.items()} for one in pair
        ]
        if not slots[0] & slots[1]:
            yield pair


def subject_of(legacy: Legacy, variant: Variant) -> Any:
    """The side to compare with: the definition, or the Optimizer, with the mistakes."""
    order = {id(each): index for index, each in enumerate(KNOWN)}
    mistakes: dict[Address, list[Mistake]] = {}
    for one in variant:
        for place, each in one.by_place.items():
            mistakes.setdefault(place, []).append(each)
    for several in mistakes.values():
        several.sort(key=lambda mistake: order.get(id(mistake), len(order)))
    keys = {one.key for one in variant}
    definition = with_mistakes(legacy.definition, mistakes, RAW.key in keys)
    if legacy.optimizer is None:
        return definition
    return _continued(legacy.optimizer, definition, keys)


def _continued(optimizer: Any, definition: Any, keys: set[str]) -> Any:
    if FRESH.key in keys:
        return optim.Optimizer(
            definition, definition.init_state(optimizer.target), optimizer.target
        )
    adapted = with_adapted_state(optimizer, definition)
    if RESTARTED.key in keys:
        state = adapted.state
        return adapted.replace(state=state.replace(step=state.step * 0))
    return adapted

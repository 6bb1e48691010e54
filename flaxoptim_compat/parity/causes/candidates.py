"""The mistakes that a program may have made in a definition, alone and in pairs."""

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

# Parts of the state that get lost when a run moves over to optax. ``subject_of`` makes these
# mistakes, which are in no definition.
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
    """A mistake, and the parts of the definition in which it is made.

    Args:
      key: the key of the mistake.
      by_place: the mistake in each part; parts may be of several classes.
      everywhere: whether it is made in all parts in which it can be made.
    """

    key: str
    by_place: Mapping[Address, Mistake]
    everywhere: bool = True

    @property
    def mistake(self) -> Mistake:
        """The mistake in the first part, for its texts."""
        return next(iter(self.by_place.values()))


Variant = tuple[Candidate, ...]


def candidates(legacy: Legacy, known: Sequence[Mistake]) -> list[Candidate]:
    """The candidates with one mistake.

    Args:
      legacy: the side that is known.
      known: the mistakes to try.
    """
    parts = parts_of(legacy.definition)
    single: list[Candidate] = []
    for key in dict.fromkeys(each.key for each in known):
        options: dict[Address, list[Mistake]] = {}
        for place, part in parts:
            recipe = recipe_of(part)
            possible = [each for each in known if each.key == key and each.concerns(recipe)]
            if possible:
                options[place] = possible
        single += _placed(key, options)
    if isinstance(legacy.definition, optim.MultiOptimizer):
        single.append(Candidate(RAW.key, {(): RAW}))
    if legacy.steps:
        single += [Candidate(each.key, {(): each}) for each in (FRESH, RESTARTED)]
    return single


def _placed(key: str, options: Mapping[Address, list[Mistake]]) -> Iterator[Candidate]:
    """The mistake in every part where it can be made; then in each of these parts alone."""
    for index in range(max(map(len, options.values()), default=0)):
        chosen = {
            place: possible[min(index, len(possible) - 1)] for place, possible in options.items()
        }
        yield Candidate(key, chosen)
        if len(chosen) > 1:
            for place, mistake in chosen.items():
                yield Candidate(key, {place: mistake}, everywhere=False)


def pairs(single: Sequence[Candidate]) -> Iterator[Variant]:
    """The pairs of candidates that do not exclude each other."""
    for pair in itertools.combinations(single, 2):
        slots = [
            {(place, mistake.slot or mistake.key) for place, mistake in each.by_place.items()}
            for each in pair
        ]
        if not slots[0] & slots[1]:
            yield pair


def subject_of(legacy: Legacy, variant: Variant) -> Any:
    """The side to compare with: the definition, or the Optimizer, with the mistakes."""
    order = {id(mistake): index for index, mistake in enumerate(KNOWN)}
    mistakes: dict[Address, list[Mistake]] = {}
    for candidate in variant:
        for place, mistake in candidate.by_place.items():
            mistakes.setdefault(place, []).append(mistake)
    for several in mistakes.values():
        several.sort(key=lambda mistake: order.get(id(mistake), len(order)))
    keys = {candidate.key for candidate in variant}
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

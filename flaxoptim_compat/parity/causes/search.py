"""The search for a cause: known mistakes are tried in the known side until it fits the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from flaxoptim_compat.parity.causes.candidates import (
    Candidate,
    Variant,
    candidates,
    pairs,
    subject_of,
)
from flaxoptim_compat.parity.causes.context import LARGE, Context, Legacy, Subset, size_of
from flaxoptim_compat.parity.causes.mistake import Mistake
from flaxoptim_compat.parity.causes.mistaken import parts_of
from flaxoptim_compat.parity.causes.mistakes import KNOWN
from flaxoptim_compat.parity.causes.mistakes.rate import off_by_a_step
from flaxoptim_compat.parity.causes.race import LOOSER, fits
from flaxoptim_compat.parity.causes.recipe import recipe_of
from flaxoptim_compat.parity.findings import Cause

_MOST_TRIALS = 400
_MOST_CONFIRMED = 4

_ORDINALS = ("first", "second")


def explained(
    subjects: tuple[Any, Any], known_side: int, legacy: Legacy, context: Context, to_optax: bool
) -> tuple[Cause, ...]:
    """The causes that turn the known side into the other side; none if no mistake does.

    Args:
      subjects: both sides of the comparison.
      known_side: the index of the side whose settings are known.
      legacy: the known side.
      context: the comparison.
      to_optax: whether the other side may have optax's defaults.
    """
    plain, other = subject_of(legacy, ()), subjects[1 - known_side]
    if plain is not subjects[known_side]:
        same, _ = fits({0: (plain, False)}, plain, subjects[known_side], context, Subset())
        if not same:
            return ()
    known = [*KNOWN, *_of_schedule(legacy, context)]
    if not to_optax:
        known = [each for each in known if not each.key.startswith("default-")]
    single = candidates(legacy, known)
    subset = context.subset(legacy)
    smaller = subset.of_legacy(legacy)
    # A compiled run may or may not round a product of half precision. An optax transformation is a
    # tuple as well, but a named one.
    large = size_of(context.params) > LARGE
    may_be_compiled = large or type(other) is tuple

    def confirm(variant: Variant) -> bool:
        subject = subject_of(legacy, variant)
        return context.confirms(*((subject, other) if known_side == 0 else (other, subject)))

    def tried(variants: Iterable[Variant]) -> tuple[dict[Variant, float], set[Variant]]:
        """The variants that come close, with their errors, and those that make a difference."""
        subjects = {
            each: (
                subject_of(smaller, each),
                may_be_compiled and len(each) == 1 and each[0].mistake.slight,
            )
            for each in variants
        }
        return fits(subjects, subject_of(smaller, ()), other, context, subset)

    close, effective = tried([(), *((each,) for each in single)])
    if close.pop((), math.inf) <= 1.0:
        # The parameters of this subset do not part.
        return ()
    fitting = _confirmed(close, effective, confirm)
    if not fitting and size_of(subset.of(context.params)) <= LARGE:
        several = [each for each in single if (each,) in effective]
        fitting = _confirmed(*tried(islice(pairs(several), _MOST_TRIALS)), confirm)
    return _causes(fitting, legacy, _ORDINALS[1 - known_side]) if fitting else ()


def _confirmed(
    close: Mapping[Variant, float], effective: set[Variant], confirm: Callable[[Variant], bool]
) -> list[Variant]:
    """The variants that fit in a compiled run too: all close ones, or else the first other one."""
    closely = [each for each in close if each in effective and close[each] <= LOOSER]
    fitting = [variant for variant in closely[:_MOST_CONFIRMED] if confirm(variant)]
    if fitting:
        return fitting
    loosely = [each for each in close if each in effective and close[each] > LOOSER]
    return list(islice(filter(confirm, loosely[:_MOST_CONFIRMED]), 1))


def _of_schedule(legacy: Legacy, context: Context) -> list[Mistake]:
    """The mistakes of a schedule, where the learning rate changes."""
    rates = context.overrides.changing.get("learning_rate")
    if rates is None or rates.ndim != 1 or len(rates) < 2:
        return []
    function = context.functions.get("learning_rate")
    before = _rate(function, -1, rates[0])
    after = _rate(function, len(rates), rates[-1])
    return [
        off_by_a_step(-1, [before, *map(float, rates[:-1])], legacy.steps),
        off_by_a_step(1, [*map(float, rates[1:]), after], legacy.steps),
    ]


def _rate(function: Callable[[int], Any] | None, step: int, otherwise: Any) -> float:
    """The rate of a step that the run does not have, if the schedule has one."""
    try:
        return float(otherwise if function is None else function(step))
    except Exception:  # the user's function may not know other steps
        return float(otherwise)


def _causes(fitting: Sequence[Variant], legacy: Legacy, ordinal: str) -> tuple[Cause, ...]:
    best, alternatives = fitting[0], fitting[1:]
    keys = {" and ".join(candidate.key for candidate in each) for each in alternatives}
    keys.discard(" and ".join(candidate.key for candidate in best))
    doubt = f" {' or '.join(sorted(keys))} would do the same in this run." if keys else ""
    return tuple(
        Cause(
            candidate.key,
            f"{_the(candidate, legacy)} {ordinal} side {_says(candidate, legacy)}.{doubt}",
            f"Use {candidate.mistake.remedy}.",
        )
        for candidate in best
    )


def _the(candidate: Candidate, legacy: Legacy) -> str:
    """The article before a side, after the part of a MultiOptimizer that has the mistake."""
    if candidate.everywhere:
        return "The"
    (place,) = candidate.by_place
    kind = type(dict(parts_of(legacy.definition))[place]).__name__
    return f"In optimizer {'.'.join(map(str, place))}, {kind}, the"


def _says(candidate: Candidate, legacy: Legacy) -> str:
    """The text of the mistake, with the settings of the definition."""
    place, mistake = next(iter(candidate.by_place.items()))
    part = dict(parts_of(legacy.definition)).get(place)
    settings = {} if part is None else recipe_of(part).settings
    return mistake.says.format_map(settings).replace(Legacy.called, legacy.called)

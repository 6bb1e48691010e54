"""What an optimizer does by itself in two runs: the same steps, or where they differ.

The learning rate is left out, as one factor of each step that all leaves have in common, where it
is not that of the definition: a program may give it to each step, and the rewritten one may have a
schedule in its place. The states of the runs tell what that rate was. The rate of some optimizers
is more than a factor. Two runs of the old one by itself, with other rates, tell that, and it is
compared only if the same rates could be given to the new one.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from flaxoptim_compat.parity.tolerance import Tolerance

STEPS = 20
# So many sums stand for what a step does to a leaf.
SUMS = 8
# What a program may give to each step.
RATE = "learning_rate"
# Hyper-parameters of one side may be in single precision: 1 - 0.999 is then off by 2e-5.
_TOLERANCE = Tolerance(relative=1e-4)

# Of each run, with gradients and without, the sums of what each step adds to each leaf.
Updates = np.ndarray[Any, np.dtype[np.float64]]
# An optimizer of the first run, and of the second.
Old = TypeVar("Old", bound=Hashable)
New = TypeVar("New", bound=Hashable)


class Probe(NamedTuple):
    """What an optimizer does by itself.

    Args:
      paths: the paths of the parameters.
      shapes: their shapes.
      dtypes: their dtypes.
      is_given: whether the program gives it the rate at a step.
      updates: what it does with its own rate, with a fixed one and a varied one, as far as it goes.
    """

    paths: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    is_given: bool
    updates: dict[str, Updates]

    @property
    def is_injected(self) -> bool:
        """Whether a transformation has its rate, and mostly all it is given, in its state."""
        return not self.is_given and "varied" in self.updates

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Probe:
        """The probe in a line that a process wrote."""
        shape = (2, STEPS, len(line["paths"]), SUMS)
        updates = {
            name: np.frombuffer(base64.b64decode(text), np.float64).reshape(shape)
            for name, text in line["updates"].items()
        }
        shapes = tuple(map(tuple, line["shapes"]))
        return cls(
            tuple(line["paths"]), shapes, tuple(line["dtypes"]), RATE in line["given"], updates
        )


class ProbedStep(NamedTuple):
    """The step and the leaf where two optimizers are farthest apart, in parts of what is allowed.

    Args:
      step: the step, from 1.
      leaf: the number of the leaf.
      has_gradients: whether the gradients were not all zero.
      error: by how much what the step adds to the leaf differs.
      distance: how much such steps add to the leaf.
      allowed: the largest error that passes.
    """

    step: int
    leaf: int
    has_gradients: bool
    error: float
    distance: float
    allowed: float

    @property
    def agrees(self) -> bool:
        """True if the optimizers do the same."""
        return self.error <= self.allowed


def compared(old: Probe, new: Probe, has_one_rate: bool) -> ProbedStep | None:
    """The step in which two optimizers differ first, or most; None if they cannot be compared.

    Args:
      old: an optimizer of the first run.
      new: one of the second.
      has_one_rate: whether neither optimizer stands for others with other rates.
    """
    if (old.paths, old.shapes, old.dtypes) != (new.paths, new.shapes, new.dtypes):
        return None
    before, after = old.updates, new.updates
    if "varied" in before and "varied" in after:
        return _apart(before["varied"], after["varied"], old)
    if old.is_given or "varied" in after:
        first, second = before.get("fixed", before.get("own")), after.get("fixed", after.get("own"))
        if first is None or second is None:
            return None
        scales = old.is_given and _without_rate(before["fixed"], before["varied"], old)
        if scales is None or (scales and not scales.agrees):
            return None
        return _without_rate(first, second, old)
    if "own" not in before or "own" not in after:
        return None
    found = _apart(before["own"], after["own"], old)
    return (
        found if has_one_rate or found.agrees else _without_rate(before["own"], after["own"], old)
    )


def verdicts(
    pairs: Iterable[tuple[Old, New]], old: Mapping[Old, Probe], new: Mapping[New, Probe]
) -> tuple[dict[Old, ProbedStep | None], dict[New, ProbedStep | None]]:
    """For each optimizer of two runs, how near the nearest one comes that did its steps.

    Args:
      pairs: the optimizers that came to the same states.
      old: the probes of the first run.
      new: the probes of the second.

    Returns:
      The results of those of the first run and of the second: None if nothing could be compared.
    """
    chosen = dict.fromkeys(pairs)
    counts = Counter(a for a, _ in chosen), Counter(b for _, b in chosen)
    of_old: dict[Old, ProbedStep | None] = {a: None for a, _ in chosen}
    of_new: dict[New, ProbedStep | None] = {b: None for _, b in chosen}
    for a, b in chosen:
        if a in old and b in new:
            found = compared(old[a], new[b], counts[0][a] == counts[1][b] == 1)
            of_old[a], of_new[b] = _nearer(of_old[a], found), _nearer(of_new[b], found)
    return of_old, of_new


def _nearer(first: ProbedStep | None, second: ProbedStep | None) -> ProbedStep | None:
    known = [each for each in (first, second) if each is not None]
    return min(known, key=lambda each: each.error / each.allowed, default=None)


def _without_rate(old: Updates, new: Updates, probe: Probe) -> ProbedStep | None:
    """As ``compared``, but with the steps of the second scaled to those of the first."""
    drawn = old[0].reshape(STEPS, -1), new[0].reshape(STEPS, -1)
    with np.errstate(all="ignore"):
        factors = (drawn[0] ** 2).sum(1) / (drawn[0] * drawn[1]).sum(1)
    # Otherwise the step has a rate of zero, in one of the two.
    usable = np.isfinite(factors) & (factors != 0)
    if not usable.any():
        return None
    factors = np.where(usable, factors, 0)
    by_step = factors[:, None, None]
    return _apart(np.where(by_step != 0, old, 0), by_step * new, probe, factors)


def _apart(old: Updates, new: Updates, probe: Probe, factors: Any = 1.0) -> ProbedStep:
    """The step in which two runs differ first, or most; the second has been scaled by factors."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(old - new)
    # What a definition does without gradients may be a division of zero by zero.
    may_fail = np.reshape([False, True], (2, 1, 1, 1))
    is_known = np.isfinite(old) & (np.isfinite(new) | ~may_fail)
    errors = np.where(is_known, np.nan_to_num(apart, nan=np.inf), 0).max(3)
    sizes = np.where(np.isfinite(old), np.abs(old), 0).max(3)
    distances = np.maximum.accumulate(sizes, axis=1)
    steps, noise = np.arange(1.0, STEPS + 1), np.fmax(1, np.abs(factors)) * np.ones(STEPS)
    allowed = np.empty_like(errors)
    for leaf, (dtype, shape) in enumerate(zip(probe.dtypes, probe.shapes, strict=True)):
        # The parameters are up to 1, and the roundings of many elements add up in a sum.
        largest = noise * math.sqrt(max(1, math.prod(shape) / SUMS))
        for run in range(2):
            allowed[run, :, leaf] = _TOLERANCE.allowed(
                distances[run, :, leaf], largest, np.dtype(dtype), steps=steps
            )
    excess = errors / allowed
    steps_apart = np.flatnonzero((excess > 1).any((0, 2)))
    among = excess[:, : steps_apart[0] + 1] if len(steps_apart) else excess
    at = np.unravel_index(int(np.argmax(among)), among.shape)
    run, step, leaf = map(int, at)
    amounts = (float(each[at]) for each in (errors, distances, allowed))
    return ProbedStep(step + 1, leaf, not run, *amounts)

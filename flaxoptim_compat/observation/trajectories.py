"""The states that optimizers had in two runs of a program: the same, or where the runs diverge.

A state is a step with the bits of its parameters, and counts once (in each of several equal
trainings): a program that looks at a state once more, copies it, or fetches it from a device, shows
nothing new. A state of one run agrees with the other run if its bits are there too, whichever
thread or process saw them: that a state is there proves all the steps before it. The states that
are left in both runs are paired by their steps, in the order of the run, and compared by their
numbers. A state without a partner is a step that one of the runs never did.

Two kinds of states belong to no trajectory:

- A program that sets the step, and then the parameters, in two calls makes a state in between,
  which a rewrite may not make. Such a state has the step of one neighbour and the parameters of the
  other. If only the rewritten program has one, its step and its parameters must be those of states
  that both runs have: if a program goes on from there, later states differ too.
- How often one and the same state is created, before any step, depends on how that is written.

Moments are compared as long as the parameters that they came from are equal: a wrong decay rate
shows in the moments one step earlier, and after the last step nowhere else. Another structure of
the state is no difference: all arrays that the definition kept must be somewhere in the state of
optax.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from flaxoptim_compat.observation.fingerprints import Fingerprint
from flaxoptim_compat.observation.records import ObservedState, OptimizerKey, Record
from flaxoptim_compat.parity import partings
from flaxoptim_compat.parity.tolerance import Tolerance

# The largest of many sums of elements is some standard deviations away.
_DEVIATIONS = 5.0


@dataclasses.dataclass(frozen=True)
class ArrayDifference:
    """The difference of an array in two runs.

    Args:
      leaf: the path of a parameter, or of the parameter with the shape of a moment.
      before: the fingerprint of the array in the first run.
      error: the largest difference of two elements; of large arrays, the usual one.
      distance: how far the array has come from its start in the first run, measured likewise.
      allowed: the largest error that passes.
      excess: the largest difference in parts of ``allowed``.
      is_moment: whether the array is a moment.
    """

    leaf: str
    before: Fingerprint
    error: float
    distance: float
    allowed: float
    excess: float
    is_moment: bool = False


@dataclasses.dataclass(frozen=True)
class Divergence:
    """The first state in which two runs differ by more than is allowed.

    Args:
      state: the state in the first run; that in the second, if only the second has it.
      difference: the array that differs; None if one of the runs has no such state.
      is_missing: whether the second run has no such state.
      created: the states in which the optimizer may have been created.
    """

    state: ObservedState
    difference: ArrayDifference | None
    is_missing: bool
    created: list[ObservedState]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of a comparison of two runs.

    Args:
      optimizers: how many optimizers moved.
      steps: how many states that steps made were compared; copies on devices count once.
      all_steps: how many such states there were.
      worst: the largest difference that is allowed; None if all bits are the same.
      divergence: where the runs diverge; None if they do not.
    """

    optimizers: int
    steps: int
    all_steps: int
    worst: ArrayDifference | None
    divergence: Divergence | None


def compare(before: Record, after: Record) -> Comparison:
    """Compare all optimizers of two runs."""
    pooled = before.pooled | after.pooled
    before, after = before.without_repeats(pooled), after.without_repeats(pooled)
    comparisons = [
        _compare_states(before.states.get(optimizer, []), after.states.get(optimizer, []))
        for optimizer in dict.fromkeys((*before.states, *after.states))
    ]
    worst = [each.worst for each in comparisons if each.worst is not None]
    return Comparison(
        _optimizers(before),
        _steps(each.steps for each in comparisons),
        _steps(each.all_steps for each in comparisons),
        max(worst, key=lambda difference: difference.excess, default=None),
        min(
            (each.divergence for each in comparisons if each.divergence is not None),
            key=lambda divergence: (divergence.difference is None, _when(divergence)),
            default=None,
        ),
    )


def _optimizers(record: Record) -> int:
    """The number of optimizers that moved, without their copies, which have other shapes."""
    by_paths: dict[tuple[str, ...], list[list[ObservedState]]] = {}
    for optimizer, states in record.states.items():
        by_paths.setdefault(optimizer.paths, []).append(states)
    return sum(
        max(1, sum(state.is_created for states in several for state in states))
        for several in by_paths.values()
        if any(map(_moves, several))
    )


def _steps(optimizers: Iterable[Sequence[ObservedState]]) -> int:
    """The number of steps that made these states.

    A program that trains on several devices takes one copy off them to save it. The states of the
    copies have one more axis, so they are those of another optimizer, but no other step made them.
    """
    most: Counter[tuple[OptimizerKey, int]] = Counter()
    for states in optimizers:
        most |= Counter((_of_one_copy(state), max(state.step, default=0)) for state in states)
    return most.total()


def _of_one_copy(state: ObservedState) -> OptimizerKey:
    optimizer, copies = state.optimizer, len(state.step)
    if not all(shape[:1] == (copies,) for shape in optimizer.shapes):
        return optimizer
    return optimizer._replace(shapes=tuple(shape[1:] for shape in optimizer.shapes))


class _StatesCompared(NamedTuple):
    """The result for the states of one optimizer in two runs; see ``Comparison``.

    Args:
      steps: the states made by steps that were compared.
      all_steps: all states made by steps.
      worst: see ``Comparison``.
      divergence: see ``Comparison``.
    """

    steps: list[ObservedState]
    all_steps: list[ObservedState]
    worst: ArrayDifference | None
    divergence: Divergence | None


def _compare_states(
    before: Sequence[ObservedState], after: Sequence[ObservedState]
) -> _StatesCompared:
    only_before, only_after = _without(before, after), _without(after, before)
    pairs, missing = _in_order(only_before, only_after)
    additional = _not_mixed(_in_order(only_after, only_before)[1], before, after)
    starts = [state for state in before if state.is_created] or list(before[:1])
    meter = _DifferenceMeter(starts)
    divergences: list[Divergence] = []
    worst: ArrayDifference | None = None
    partners = {id(old): new for old, new in pairs}
    equal = {_key(state): state for state in after}
    made = list(_made_by_steps(before))
    compared: set[int] = set()
    for state in before:
        partner = partners.get(id(state), equal.get(_key(state)))
        if partner is None:
            continue
        differences = list(meter.differences(state, partner, worst is None))
        is_same = state.bits is not None and state.bits == partner.bits
        if is_same or (state.leaves and partner.leaves):
            compared.add(id(state))
        largest = max(differences, key=_weight, default=None)
        if largest is not None and largest.excess > 1:
            divergences.append(Divergence(state, largest, False, meter.created(state)))
            break
        if largest is not None and (worst is None or largest.excess > worst.excess):
            worst = largest
    for states, is_missing in ((missing, True), (additional, False)):
        divergences += [
            Divergence(each, None, is_missing, meter.created(each)) for each in states[:1]
        ]
    return _StatesCompared(
        [state for state in made if id(state) in compared],
        made,
        worst,
        min(divergences, key=_when, default=None),
    )


def _weight(difference: ArrayDifference) -> tuple[bool, float]:
    # Among differences that are too large, a parameter says more than a moment.
    return difference.excess > 1 and not difference.is_moment, difference.excess


def _when(divergence: Divergence) -> tuple[int, bool]:
    return max(divergence.state.step, default=0), divergence.difference is None


def _key(state: ObservedState) -> tuple[int, tuple[int, ...], str | None]:
    return state.round, state.step, state.bits


def _made_by_steps(states: Sequence[ObservedState]) -> Iterator[ObservedState]:
    """The states but the first, those created, and those that a later training restores.

    One that is restored was there in an earlier training, after another state than now.
    """
    preceding: dict[tuple[object, ...], set[tuple[object, ...]]] = defaultdict(set)
    for last, state in itertools.pairwise(states):
        earlier = preceding[_key(state)[1:]]
        is_restored = state.round > 0 and bool(earlier) and _key(last)[1:] not in earlier
        earlier.add(_key(last)[1:])
        if not state.is_created and not is_restored:
            yield state


def _moves(states: Sequence[ObservedState]) -> bool:
    return len({(state.step, state.bits) for state in states}) > 1


def _without(
    states: Sequence[ObservedState], other_run: Sequence[ObservedState]
) -> list[ObservedState]:
    """The states that the other run does not have, without those that belong to no trajectory."""
    known = {_key(state) for state in other_run}
    created = {(state.step, state.bits) for state in other_run}
    return [
        state
        for index, state in enumerate(states)
        if _key(state) not in known
        and not (state.is_created and (state.step, state.bits) in created)
        and not _is_between(states[max(index - 1, 0) : index + 2])
    ]


def _not_mixed(
    additional: Sequence[ObservedState],
    before: Sequence[ObservedState],
    after: Sequence[ObservedState],
) -> list[ObservedState]:
    """The states of the second run only that are no mixture of two which both runs have."""
    known = {_key(state) for state in before}
    both = [state for state in after if _key(state) in known]
    steps, bits = {state.step for state in both}, {state.bits for state in both}
    return [state for state in additional if not (state.step in steps and state.bits in bits)]


def _is_between(three: Sequence[ObservedState]) -> bool:
    """True if the middle state has the step of one neighbour and the parameters of the other."""
    if len(three) < 3:
        return False
    last, this, then = three
    return (this.step == last.step and this.bits == then.bits) or (
        this.bits == last.bits and this.step == then.step
    )


def _in_order(
    states: Sequence[ObservedState], other_run: Sequence[ObservedState]
) -> tuple[list[tuple[ObservedState, ObservedState]], list[ObservedState]]:
    """Pairs of states with the same step, and the states for which there is no partner."""
    waiting: dict[tuple[int, ...], list[ObservedState]] = defaultdict(list)
    for other in other_run:
        waiting[other.step].append(other)
    pairs, left = [], []
    for state in states:
        if waiting[state.step]:
            pairs.append((state, waiting[state.step].pop(0)))
        else:
            left.append(state)
    return pairs, left


class _DifferenceMeter:
    """Measures differences, by how far arrays have come from the starts of the first run."""

    def __init__(self, starts: Sequence[ObservedState]) -> None:
        self._starts = starts

    def created(self, state: ObservedState) -> list[ObservedState]:
        """The starts from which a state may have come: the nearest ones."""
        starts = [start for start in self._starts if start.what == state.what] or self._starts
        distances = [self._distance(start, state) for start in starts]
        nearest = min(distances, default=0.0)
        return [
            start
            for start, distance in zip(starts, distances, strict=True)
            if distance == nearest or math.isnan(distance)
        ]

    def differences(
        self, before: ObservedState, after: ObservedState, is_first: bool
    ) -> Iterator[ArrayDifference]:
        """The differences of parameters, and of moments that came from the same parameters.

        Args:
          before: a state of the first run.
          after: the state of the second.
          is_first: whether nothing differed before.
        """
        start = next(iter(self.created(before)), before)
        done = max((*map(abs, before.step), 0))
        leaves = zip(before.optimizer.paths, before.leaves, after.leaves, strict=False)
        firsts = start.leaves or before.leaves
        came = [_apart(*each)[1] for each in zip(firsts, before.leaves, strict=False)]
        farthest = max(came, default=0.0)
        for distance, (path, old, new) in zip(came, leaves, strict=False):
            if old.digest != new.digest or old.dtype != new.dtype:
                yield _difference(path, old, new, (distance, farthest), done)
        if (is_first or before.bits == after.bits) and before.moments and after.moments:
            yield from min(
                (
                    list(self._of_moments(before.optimizer, moments, after, done))
                    for moments in before.moments
                ),
                key=lambda several: max((each.excess for each in several), default=0.0),
            )

    def _of_moments(
        self,
        optimizer: OptimizerKey,
        moments: Sequence[Fingerprint],
        after: ObservedState,
        done: int,
    ) -> Iterator[ArrayDifference]:
        new_moments = [each for several in after.moments for each in several]
        farthest = max(map(_size, moments), default=0.0)
        for moment in moments:
            same_shape = [each for each in new_moments if each.shape == moment.shape]
            if any(each.digest == moment.digest for each in same_shape):
                continue
            if moment.shape not in optimizer.shapes or not same_shape:
                continue  # kept in another form than that of a parameter
            path = optimizer.paths[optimizer.shapes.index(moment.shape)]
            came = _size(moment), farthest
            differences = [
                _difference(path, moment, each, came, done, is_moment=True) for each in same_shape
            ]
            yield min(differences, key=lambda each: each.excess)

    def _distance(self, start: ObservedState, state: ObservedState) -> float:
        pairs = zip(start.leaves, state.leaves, strict=False)
        return math.sqrt(sum(_apart(first, later)[1] ** 2 for first, later in pairs))


def _difference(
    path: str,
    old: Fingerprint,
    new: Fingerprint,
    came: tuple[float, float],
    done: int,
    is_moment: bool = False,
) -> ArrayDifference:
    largest, usual = _apart(old, new)
    distance, farthest = came
    # All gradients come from one pass. Where a leaf's gradient cancels out, as that of a bias of
    # keys, its roundings are those of numbers as large as in the other leaves.
    size = max(old.largest, new.largest, farthest)
    allowed = Tolerance().at(done, distance, size, old.dtype)
    with np.errstate(divide="ignore"):
        excess = float(np.float64(largest) / allowed) if largest else 0.0
    return ArrayDifference(path, old, usual, distance, allowed, excess, is_moment)


def _apart(first: Fingerprint, second: Fingerprint) -> tuple[float, float]:
    """The largest difference of two arrays, and the usual one: the same, of small arrays."""
    if first.numbers.shape != second.numbers.shape:
        return math.inf, math.inf
    apart = partings.differences(first.numbers, second.numbers)
    if not len(apart):
        return 0.0, 0.0
    many = first.per_number
    if many == 1:
        return float(apart.max()), float(apart.max())
    usual = float(np.sqrt(np.mean(apart**2) / many))
    return float(apart.max()) / math.sqrt(many) / _DEVIATIONS, usual


def _size(array: Fingerprint) -> float:
    return _apart(array, array._replace(numbers=np.zeros_like(array.numbers)))[1]

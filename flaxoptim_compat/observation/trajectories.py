"""The states that optimizers had in two runs of a program: the same, or where they part.

Compared are states, not observations. A program that looks at a state once more, copies it, or
fetches it from a device, shows nothing new; so each state, a step with the bits of its parameters,
counts once (in each of several equal trainings). A state of one run is one of the other if its bits
are there too, whoever saw it, and in whatever order threads and processes did: that a state is
there proves all the steps before it. What has no such counterpart is compared by its numbers, with
those of the same step that have none either, in the order of the run. What is left over then is a
step that one of the runs never did.

Two things are no states of a trajectory. A program that sets the step, and then the parameters, in
two calls makes something in between, which a rewrite may make in one: it has the step of its
neighbour on one side, and the parameters of the one on the other. If only the rewritten program
has it, its step and its parameters must be those of states that both have: where a program goes on
from there, later states differ too. And how often one and the same state is created, before any
step, depends on how that is written.

Moments are compared as long as the parameters that they came from are equal: a wrong decay rate
shows in them one step earlier, and after the last step nowhere else. Putting them into another
structure is no arithmetic, so all that the definition kept must be somewhere in the state of optax;
where, does not matter.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from flaxoptim_compat.observation.fingerprints import Array, Fingerprint
from flaxoptim_compat.observation.records import Kind, Record, State
from flaxoptim_compat.parity.tolerance import Tolerance

# Of sums of many elements the largest of all is some standard deviations away.
_DEVIATIONS = 5.0


@dataclasses.dataclass(frozen=True)
class Gap:
    """The distance of an array in two runs.

    Args:
      leaf: the path of a parameter, or of the parameter with the shape of a moment.
      before: what was kept of it in the first run.
      error: the largest difference; of large arrays, the usual one.
      distance: how far it has come from its start in the first run, measured likewise.
      allowed: the largest difference that passes.
      excess: the largest difference in parts of that.
      is_moment: whether it is a moment.
    """

    leaf: str
    before: Fingerprint
    error: float
    distance: float
    allowed: float
    excess: float
    is_moment: bool = False


@dataclasses.dataclass(frozen=True)
class Parting:
    """The first state in which two runs part.

    Args:
      state: it, of the first run; of the second, if only that had it.
      gap: where and how far; None if one of the runs has no such state.
      is_missing: whether the second run has no such state.
      created: where the optimizer was created, as far as that can be told.
    """

    state: State
    gap: Gap | None
    is_missing: bool
    created: list[State]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of a comparison of two runs.

    Args:
      optimizers: how many moved.
      steps: how many states were compared, after those at their start.
      all_steps: how many there were.
      worst: the largest gap that is allowed; None if all bits are the same.
      parting: where they part; None if they do not.
    """

    optimizers: int
    steps: int
    all_steps: int
    worst: Gap | None
    parting: Parting | None


def compare(before: Record, after: Record) -> Comparison:
    """Compare all optimizers of two runs."""
    pooled = before.pooled | after.pooled
    before, after = before.without_repeats(pooled), after.without_repeats(pooled)
    found = [
        _compare_kind(before.states.get(kind, []), after.states.get(kind, []))
        for kind in dict.fromkeys((*before.states, *after.states))
    ]
    gaps = [each.worst for each in found if each.worst is not None]
    return Comparison(
        _optimizers(before),
        sum(each.steps for each in found),
        sum(each.all_steps for each in found),
        max(gaps, key=lambda gap: gap.excess, default=None),
        min(
            (each.parting for each in found if each.parting is not None),
            key=lambda parting: (parting.gap is None, _when(parting)),
            default=None,
        ),
    )


def _optimizers(record: Record) -> int:
    """The number of optimizers that moved, without their copies, which have other shapes."""
    by_paths: dict[tuple[str, ...], list[list[State]]] = {}
    for kind, states in record.states.items():
        by_paths.setdefault(kind.paths, []).append(states)
    return sum(
        max(1, sum(state.is_created for states in several for state in states))
        for several in by_paths.values()
        if any(map(_moves, several))
    )


class _OfKind(NamedTuple):
    """The result for states of two runs that may be of one optimizer; see ``Comparison``."""

    steps: int
    all_steps: int
    worst: Gap | None
    parting: Parting | None


def _compare_kind(before: Sequence[State], after: Sequence[State]) -> _OfKind:
    lonely = _without(before, after), _without(after, before)
    pairs, missing = _in_order(*lonely)
    additional = _of_its_own(_in_order(lonely[1], lonely[0])[1], before, after)
    starts = [state for state in before if state.is_created] or list(before[:1])
    measured = _Measured(starts)
    partings: list[Parting] = []
    worst: Gap | None = None
    partner = {id(one): other for one, other in pairs}
    equal = {_key(state): state for state in after}
    compared = 0
    for state in before:
        other = partner.get(id(state), equal.get(_key(state)))
        if other is None:
            continue
        gaps = list(measured.gaps(state, other, worst is None))
        is_same = state.bits is not None and state.bits == other.bits
        compared += _is_step(state, starts) and (is_same or bool(state.leaves and other.leaves))
        gap = max(gaps, key=_weight, default=None)
        if gap is not None and gap.excess > 1:
            partings.append(Parting(state, gap, False, measured.created(state)))
            break
        if gap is not None and (worst is None or gap.excess > worst.excess):
            worst = gap
    for states, is_missing in ((missing, True), (additional, False)):
        partings += [Parting(each, None, is_missing, measured.created(each)) for each in states[:1]]
    return _OfKind(
        compared,
        sum(_is_step(state, starts) for state in before),
        worst,
        min(partings, key=_when, default=None),
    )


def _weight(gap: Gap) -> tuple[bool, float]:
    # Of what is too much, a parameter says more than a moment.
    return gap.excess > 1 and not gap.is_moment, gap.excess


def _when(parting: Parting) -> tuple[int, bool]:
    return max(parting.state.step, default=0), parting.gap is None


def _key(state: State) -> tuple[int, tuple[int, ...], str | None]:
    return state.round, state.step, state.bits


def _is_step(state: State, starts: Sequence[State]) -> bool:
    return not state.is_created and not any(state is each for each in starts)


def _moves(states: Sequence[State]) -> bool:
    return len({(state.step, state.bits) for state in states}) > 1


def _without(states: Sequence[State], others: Sequence[State]) -> list[State]:
    """The states that the other run does not have, without those that are no trajectory's."""
    known = {_key(state) for state in others}
    created = {(state.step, state.bits) for state in others}
    return [
        state
        for index, state in enumerate(states)
        if _key(state) not in known
        and not (state.is_created and (state.step, state.bits) in created)
        and not _is_between(states[max(index - 1, 0) : index + 2])
    ]


def _of_its_own(
    additional: Sequence[State], before: Sequence[State], after: Sequence[State]
) -> list[State]:
    """The states of the second run only that are no mixture of two which both runs have."""
    known = {_key(state) for state in before}
    both = [state for state in after if _key(state) in known]
    steps, bits = {state.step for state in both}, {state.bits for state in both}
    return [state for state in additional if not (state.step in steps and state.bits in bits)]


def _is_between(three: Sequence[State]) -> bool:
    if len(three) < 3:
        return False
    last, this, then = three
    return (this.step == last.step and this.bits == then.bits) or (
        this.bits == last.bits and this.step == then.step
    )


def _in_order(
    states: Sequence[State], others: Sequence[State]
) -> tuple[list[tuple[State, State]], list[State]]:
    """Pairs of states with the same step, and the states that there is none for."""
    waiting: dict[tuple[int, ...], list[State]] = defaultdict(list)
    for other in others:
        waiting[other.step].append(other)
    pairs, left = [], []
    for state in states:
        if waiting[state.step]:
            pairs.append((state, waiting[state.step].pop(0)))
        else:
            left.append(state)
    return pairs, left


class _Measured:
    """Measures gaps, by how far arrays have come from the starts of the first run."""

    def __init__(self, starts: Sequence[State]) -> None:
        self._starts = starts

    def created(self, state: State) -> list[State]:
        """The starts from which a state may have come: the nearest ones."""
        starts = [start for start in self._starts if start.what == state.what] or self._starts
        distances = [self._distance(start, state) for start in starts]
        nearest = min(distances, default=0.0)
        return [
            start
            for start, distance in zip(starts, distances, strict=True)
            if distance == nearest or math.isnan(distance)
        ]

    def gaps(self, before: State, after: State, is_first: bool) -> Iterator[Gap]:
        """The gaps where bits differ: parameters, and moments where those came from the same ones.

        Args:
          before: a state of the first run.
          after: the state of the second.
          is_first: whether nothing differed before.
        """
        start = next(iter(self.created(before)), before)
        done = max((*map(abs, before.step), 0))
        leaves = zip(before.kind.paths, before.leaves, after.leaves, strict=False)
        firsts = start.leaves or before.leaves
        came = [_apart(*each)[1] for each in zip(firsts, before.leaves, strict=False)]
        farthest = max(came, default=0.0)
        for distance, (path, one, other) in zip(came, leaves, strict=False):
            if one.digest != other.digest or one.dtype != other.dtype:
                yield _gap(path, one, other, (distance, farthest), done)
        if (is_first or before.bits == after.bits) and before.moments and after.moments:
            yield from min(
                (list(self._of_moments(before.kind, each, after, done)) for each in before.moments),
                key=lambda gaps: max((gap.excess for gap in gaps), default=0.0),
            )

    def _of_moments(
        self, kind: Kind, moments: Sequence[Fingerprint], after: State, done: int
    ) -> Iterator[Gap]:
        there = [each for some in after.moments for each in some]
        farthest = max(map(_size, moments), default=0.0)
        for moment in moments:
            shapes = [each for each in there if each.shape == moment.shape]
            if any(each.digest == moment.digest for each in shapes):
                continue
            if moment.shape not in kind.shapes or not shapes:
                continue  # kept in another form than that of a parameter
            path = kind.paths[kind.shapes.index(moment.shape)]
            came = _size(moment), farthest
            gaps = [_gap(path, moment, each, came, done, is_moment=True) for each in shapes]
            yield min(gaps, key=lambda gap: gap.excess)

    def _distance(self, start: State, state: State) -> float:
        pairs = zip(start.leaves, state.leaves, strict=False)
        return math.sqrt(sum(_apart(one, other)[1] ** 2 for one, other in pairs))


def _gap(
    path: str,
    one: Fingerprint,
    other: Fingerprint,
    came: tuple[float, float],
    done: int,
    is_moment: bool = False,
) -> Gap:
    largest, usual = _apart(one, other)
    distance, farthest = came
    # All gradients come from one pass. What cancels out in a leaf, as in a bias of keys, are
    # roundings of numbers of the size of the others.
    size = max(one.largest, other.largest, farthest)
    allowed = Tolerance().at(done, distance, size, one.dtype)
    with np.errstate(divide="ignore"):
        excess = float(np.float64(largest) / allowed) if largest else 0.0
    return Gap(path, one, usual, distance, allowed, excess, is_moment)


def _apart(one: Fingerprint, other: Fingerprint) -> tuple[float, float]:
    """The largest difference of two arrays, and the usual one: the same, of small arrays."""
    apart = _differences(one.numbers, other.numbers)
    if not len(apart):
        return 0.0, 0.0
    many = one.per_number
    if many == 1:
        return float(apart.max()), float(apart.max())
    usual = float(np.sqrt(np.mean(apart**2) / many))
    return float(apart.max()) / math.sqrt(many) / _DEVIATIONS, usual


def _size(one: Fingerprint) -> float:
    return _apart(one, one._replace(numbers=np.zeros_like(one.numbers)))[1]


def _differences(one: Array, other: Array) -> Array:
    if one.shape != other.shape:
        return np.full(1, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(one - other)
    apart = np.where(np.isfinite(apart), apart, np.inf)
    return np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, apart)

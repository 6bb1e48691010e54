"""The states that optimizers had in two runs of a program: the same, or where the runs diverge.

A state is a step with the bits of its parameters, and counts once in each training of each process:
a program that looks at a state once more, copies it, or fetches it from a device, shows nothing
new. A state of one run agrees with the other run if its bits are there too, and as often, whichever
thread or process saw them: that a state is there proves all the steps before it. The states that
are left in both runs are paired by their steps, the nearest ones, and compared by their numbers. A
state without a partner is a step that one of the runs never did.

Two kinds of states belong to no trajectory:

- A program that sets the step, and then the parameters, in two calls makes a state in between,
  which a rewrite may not make. Such a state has the step of one neighbour and the parameters of the
  other. If only the rewritten program has one, its step and its parameters must be those of states
  that both runs have: if a program goes on from there, later states differ too. The last state of
  a training is what the program made, and never such a state.
- How often one and the same state is created, before any step, depends on how that is written.

Moments are compared as long as the parameters that they came from are equal: a wrong decay rate
shows in the moments one step earlier, and after the last step nowhere else. Another structure of
the state is no difference: all arrays that the definition kept must be somewhere in the state of
optax.

What a run does not show, the probes do: the definition of each optimizer of the first run, and what
did the same steps in the second, are compared by themselves.

On other versions or another machine, no bits are the same, from the parameters at the start on.
Some trainings make such roundings grow. A third run, the control, tells by how much: it is the
second one with all parameters one unit in the last place off when an optimizer is created. What has
grown to no more than that is allowed.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flaxoptim_compat.observation.fingerprints import Fingerprint
from flaxoptim_compat.observation.probes import ProbedStep, verdicts
from flaxoptim_compat.observation.records import (
    ObservedState,
    OptimizerKey,
    ProgramLine,
    Record,
    Rule,
)
from flaxoptim_compat.parity import partings
from flaxoptim_compat.parity.tolerance import Tolerance

# The largest of many sums of elements is some standard deviations away.
_DEVIATIONS = 5.0
# A hyper-parameter that is injected into a state is in single precision, where 1 - 0.999 is off by
# up to 3e-5. That scales each step of Adam, by more than rounding for a bias that began at zero.
_OF_INJECTED = Tolerance(relative=5e-5)
# What definitions do by themselves, as far as that is known, by parameters, process and number.
_Probed = dict[tuple[OptimizerKey, Rule], ProbedStep | None]
# The rule of an optimizer that was only traced.
_TRACED: Rule = (0, 0)


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
      is_grown: whether it is allowed only because roundings grow as much.
    """

    leaf: str
    before: Fingerprint
    error: float
    distance: float
    allowed: float
    excess: float
    is_moment: bool = False
    is_grown: bool = False


@dataclasses.dataclass(frozen=True)
class Divergence:
    """The first state in which two runs differ by more than is allowed.

    Args:
      state: the state in the first run; that in the second, if only the second has it.
      difference: the array that differs; None if one of the runs has no such state.
      is_missing: whether the second run has no such state.
      created: the states in which the optimizer may have been created.
      probed: the step, if the states agree, and what the optimizers do by themselves does not.
    """

    state: ObservedState
    difference: ArrayDifference | None
    is_missing: bool
    created: list[ObservedState]
    probed: ProbedStep | None = None


@dataclasses.dataclass(frozen=True)
class ComparedOptimizer:
    """The result for one optimizer of the first run.

    Args:
      optimizer: the program, and the parameters of one copy.
      what: the class of its definition; "" for a TrainState.
      created: the lines of the first run that created it; those that made its states, if there is
        no such line.
      steps: how many states that steps made were compared; copies on devices count once.
      all_steps: how many such states there were.
      left_out: how many of the others were not compared for the size of the parameters.
      worst: the largest difference that is allowed; None if all bits are the same.
      never_moved: whether there were steps, and none of them moved a parameter.
      not_finite_from: the first step after which a parameter was not finite.
      only_traced: whether it was created in traced code, and no state of it was seen.
      grown_from: the first step after which only the control explains the difference: from there on
        the numbers tell nothing.
      is_probed: whether what did steps was compared by itself too, and does the same.
      gone: a parameter whose moment has no counterpart in the second run; None if there is none.
    """

    optimizer: OptimizerKey
    what: str
    created: tuple[ProgramLine, ...]
    steps: int = 0
    all_steps: int = 0
    left_out: int = 0
    worst: ArrayDifference | None = None
    never_moved: bool = False
    not_finite_from: int | None = None
    only_traced: bool = False
    grown_from: int | None = None
    is_probed: bool = False
    gone: str | None = None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of a comparison of two runs.

    Args:
      optimizers: how many optimizers moved.
      steps: how many states that steps made were compared; copies on devices count once.
      all_steps: how many such states there were.
      worst: the largest difference that is allowed; None if all bits are the same.
      divergence: where the runs diverge; None if they do not.
      by_optimizer: the result for each optimizer of the first run, also for one that never moved.
    """

    optimizers: int
    steps: int
    all_steps: int
    worst: ArrayDifference | None
    divergence: Divergence | None
    by_optimizer: tuple[ComparedOptimizer, ...] = ()


def compare(before: Record, after: Record, control: Record | None = None) -> Comparison:
    """Compare all optimizers of two runs.

    Args:
      before: the first run.
      after: the second run.
      control: the second run again, with its first parameters one unit in the last place off.
    """
    grown = {} if control is None else grown_errors(after, control)
    comparisons = [
        _compare_states(before, after, optimizer, grown)
        for optimizer in dict.fromkeys((*before.states, *after.states))
    ]
    probed, divergences = _compare_traced(before, after)
    for each in comparisons:
        probed |= each.probed
    divergences += [each.of_probes for each in comparisons if each.of_probes]
    divergences = [each.divergence for each in comparisons if each.divergence] or divergences
    differences = [each for several in comparisons for each in several.differences.values()]
    return Comparison(
        _optimizers(before),
        _steps(each.steps for each in comparisons),
        _steps(each.all_steps for each in comparisons),
        _largest(differences),
        min(
            divergences,
            key=lambda divergence: (divergence.difference is None, _when(divergence)),
            default=None,
        ),
        tuple(_by_optimizer(before, comparisons, probed)),
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


def _compare_traced(before: Record, after: Record) -> tuple[_Probed, list[Divergence]]:
    """What the optimizers that were only traced do by themselves, and where they diverge."""
    found: _Probed = {}
    divergences = []
    for optimizer, lines in before.traced.items():
        old, new = (
            dict(enumerate(each.traced_probes.get(optimizer, []))) for each in (before, after)
        )
        results = verdicts(itertools.product(old, new), old, new)
        known = [each for several in results for each in several.values()]
        wrong = next((each for each in known if each and not each.agrees), None)
        found[optimizer, _TRACED] = known[0] if known and all(known) else None
        if wrong is not None:
            state = ObservedState(optimizer, 0, (0,), None, "", min(lines), True, [], [])
            divergences.append(Divergence(state, None, False, [], wrong))
    return found, divergences


def _by_optimizer(
    before: Record, comparisons: Sequence[_StatesCompared], probed: _Probed
) -> Iterator[ComparedOptimizer]:
    """The results by the parameters of one copy, and the lines that created the optimizer."""
    rules: dict[tuple[OptimizerKey, int, int], list[ObservedState]] = defaultdict(list)
    for states in before.states.values():
        for state in states:
            rules[_of_one_copy(state), state.process, state.rule].append(state)
    optimizers: dict[
        tuple[OptimizerKey, str, tuple[ProgramLine, ...]], list[list[ObservedState]]
    ] = defaultdict(list)
    for (optimizer, *_), states in rules.items():
        created = [state for state in states if state.is_created] or states[:1]
        lines = tuple(dict.fromkeys(state.place for state in created))
        optimizers[optimizer, states[0].what, lines].append(states)
    for (optimizer, what, lines), several in optimizers.items():
        ids = {id(state) for states in several for state in states}
        steps = [[each for each in one.steps if id(each) in ids] for one in comparisons]
        made = [[each for each in one.all_steps if id(each) in ids] for one in comparisons]
        done = {id(state) for states in steps for state in states}
        unread = [[x for x in each if id(x) not in done and not x.leaves] for each in made]
        differences = [
            difference
            for one in comparisons
            for which, difference in one.differences.items()
            if which in ids
        ]
        yield ComparedOptimizer(
            optimizer,
            what,
            lines,
            _steps(steps),
            _steps(made),
            _steps(unread),
            _largest(differences),
            any(map(_never_moved, several)),
            min(
                (max(x.step, default=0) for xs in several for x in xs if not _is_finite(x)),
                default=None,
            ),
            grown_from=min(
                (
                    max(state.step, default=0)
                    for one in comparisons
                    for states in several
                    for state in states
                    if id(state) in one.differences and one.differences[id(state)].is_grown
                ),
                default=None,
            ),
            # Whoever only holds parameters for others does no step.
            is_probed=all(
                any(probed.get(_rule_of(state)) for state in states)
                for states in several
                if len({state.step for state in states}) > 1
            ),
            gone=next((x.gone[each] for x in comparisons for each in x.gone if each in ids), None),
        )
    for optimizer, places in before.traced.items():
        yield ComparedOptimizer(
            optimizer,
            "",
            tuple(sorted(places)),
            only_traced=True,
            is_probed=bool(probed[optimizer, _TRACED]),
        )


def _never_moved(states: Sequence[ObservedState]) -> bool:
    """True if steps were done in several trainings by one rule, and the parameters stayed."""
    return _moves(states) and all(
        len({(state.optimizer, state.bits) for state in training})
        == len({state.optimizer for state in training})
        for training in trainings(states)
    )


def trainings(states: Sequence[ObservedState]) -> list[list[ObservedState]]:
    """The states by trainings: each begins with a state that is created."""
    trainings: list[list[ObservedState]] = []
    for state in states:
        if state.is_created or not trainings:
            trainings.append([])
        trainings[-1].append(state)
    return trainings


def _is_finite(state: ObservedState) -> bool:
    return all(
        math.isfinite(leaf.largest) and bool(np.isfinite(leaf.numbers).all())
        for leaf in state.leaves
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
      differences: the largest difference of each state that has some, by the ``id`` of the state.
      divergence: see ``Comparison``.
      probed: what is known of the optimizers by themselves.
      of_probes: where they diverge by themselves.
      gone: a parameter whose moment the second run has not, by the ``id`` of the state.
    """

    steps: list[ObservedState]
    all_steps: list[ObservedState]
    differences: dict[int, ArrayDifference]
    divergence: Divergence | None
    probed: _Probed
    of_probes: Divergence | None
    gone: dict[int, str]


# A state by its step, the bits of its parameters, and how many equal ones came before.
_Key = tuple[int, tuple[int, ...], str | None]


class _Trajectory:
    """The states of one optimizer in a run.

    Args:
      states: the states, in the order of the run.
    """

    def __init__(self, states: Sequence[ObservedState]) -> None:
        self.states = states
        # The states by their keys.
        self.by_key: dict[_Key, ObservedState] = {}
        # The keys by the ids of the states.
        self.keys: dict[int, _Key] = {}
        # The states that steps made: not the first of a process, nor those created or restored.
        self.made_by_steps: list[ObservedState] = []
        # The ids of the states that are between two calls which set the step and the parameters.
        self.between: set[int] = set()
        equal: Counter[object] = Counter()
        for state in states:
            key = (equal[state.step, state.bits], state.step, state.bits)
            equal[state.step, state.bits] += 1
            self.keys[id(state)], self.by_key[key] = key, state
        self._follow()

    def _follow(self) -> None:
        """Look at each state beside its neighbours, those with the same rule in its process."""
        chains: dict[tuple[int, int], list[ObservedState]] = defaultdict(list)
        processes: set[int] = set()
        # What came before equal states. One that is restored was there in an earlier training,
        # after another state than now.
        preceding: dict[object, set[object]] = defaultdict(set)
        for state in self.states:
            chain = chains[state.process, state.rule]
            last = chain[-1] if chain else None
            then = None if last is None else (last.step, last.bits)
            earlier = preceding[state.step, state.bits]
            is_restored = bool(earlier) and then not in earlier
            earlier.add(then)
            chain.append(state)
            if state.process in processes and not (state.is_created or is_restored):
                self.made_by_steps.append(state)
            processes.add(state.process)
        for chain in chains.values():
            for last, state, following in zip(chain, chain[1:], chain[2:], strict=False):
                if not state.is_last and _is_between(last, state, following):
                    self.between.add(id(state))

    def without(self, other: _Trajectory) -> list[ObservedState]:
        """The states that the other run lacks, without those that belong to no trajectory."""
        created = {(state.step, state.bits) for state in other.states}
        return [
            state
            for state in self.states
            if self.keys[id(state)] not in other.by_key
            and not (state.is_created and (state.step, state.bits) in created)
            and id(state) not in self.between
        ]

    def once(self, additional: Sequence[ObservedState]) -> list[ObservedState]:
        """The additional states but those that are created, and are like another one of the run."""
        return [
            state
            for state in additional
            if not (state.is_created and self.by_key.get((1, state.step, state.bits)))
        ]

    def not_looked_at(
        self, additional: Sequence[ObservedState], other: _Trajectory
    ) -> list[ObservedState]:
        """The additional states but those that tell of nothing new.

        Such a state has the step and the parameters of states that both runs have, and is neither
        the last of a training nor made by the same step as another one.

        Args:
          additional: states that only this run has.
          other: the states of the other run.
        """
        both = [state for state in self.states if self.keys[id(state)] in other.by_key]
        steps, bits = {state.step for state in both}, {state.bits for state in both}
        whole = {(state.step, state.bits) for state in both}
        made = set(map(id, self.made_by_steps))
        return [
            state
            for state in additional
            if not (state.step in steps and state.bits in bits)
            or (id(state) in made if (state.step, state.bits) in whole else state.is_last)
        ]


def grown_errors(after: Record, control: Record) -> dict[int, list[float]]:
    """The largest errors so far of each parameter in a control, by the ids of the states after."""
    grown: dict[int, list[float]] = {}
    for optimizer, states in after.states.items():
        so_far = [0.0] * len(optimizer.paths)
        for state, other in paired_states(states, control.states.get(optimizer, [])):
            pairs = zip(state.leaves, other.leaves, strict=False)
            errors = [apart(*pair)[0] for pair in pairs]
            so_far = list(map(max, so_far, errors)) if errors else so_far
            grown[id(state)] = so_far
    return grown


def paired_states(
    states_before: Sequence[ObservedState], states_after: Sequence[ObservedState]
) -> list[tuple[ObservedState, ObservedState]]:
    """The states of an optimizer that two runs have, in the order of the first run."""
    before, after = _Trajectory(states_before), _Trajectory(states_after)
    return _both(before, after, _pairs(before.without(after), after.without(before))[0])


def _both(
    before: _Trajectory,
    after: _Trajectory,
    unequal: Iterable[tuple[ObservedState, ObservedState]],
) -> list[tuple[ObservedState, ObservedState]]:
    partners = {id(old): new for old, new in unequal}
    found = [
        (state, partners.get(id(state), after.by_key.get(before.keys[id(state)])))
        for state in before.states
    ]
    return [(state, partner) for state, partner in found if partner is not None]


def _compare_states(
    run_before: Record,
    run_after: Record,
    optimizer: OptimizerKey,
    grown: Mapping[int, list[float]],
) -> _StatesCompared:
    before, after = (_Trajectory(run.states.get(optimizer, [])) for run in (run_before, run_after))
    is_elsewhere = run_before.versions != run_after.versions
    only_before, only_after = before.without(after), after.without(before)
    pairs, missing = _pairs(only_before, only_after)
    additional = after.not_looked_at(_pairs(only_after, only_before)[1], before)
    if is_elsewhere:
        # Equal states that are created have no equals in the other run.
        missing, additional = before.once(missing), after.once(additional)
    starts = [state for state in before.states if state.is_created] or list(before.states[:1])
    both = _both(before, after, pairs)
    made = {id(each) for one in (before, after) for each in one.made_by_steps}
    rules = [
        (_rule_of(old), _rule_of(new)) for old, new in both if id(old) in made and id(new) in made
    ]
    of_old, of_new = verdicts(rules, run_before.probes, run_after.probes)
    injected = {
        rule
        for rule, found in of_new.items()
        if found and found.agrees and run_after.probes[rule].is_injected
    }
    meter = _DifferenceMeter(starts, grown, is_elsewhere, injected)
    divergences: list[Divergence] = []
    differences: dict[int, ArrayDifference] = {}
    compared: set[int] = set()
    for state, partner in both:
        is_same = state.bits is not None and state.bits == partner.bits
        if is_same or (state.leaves and partner.leaves):
            compared.add(id(state))
        largest = max(meter.differences(state, partner, not differences), key=_weight, default=None)
        if largest is None:
            continue
        if largest.excess > 1:
            divergences.append(Divergence(state, largest, False, meter.created(state)))
            break
        differences[id(state)] = largest
    for states, is_missing in ((missing, True), (additional, False)):
        divergences += [
            Divergence(each, None, is_missing, meter.created(each)) for each in states[:1]
        ]
    return _StatesCompared(
        [state for state in before.made_by_steps if id(state) in compared],
        before.made_by_steps,
        differences,
        min(divergences, key=_when, default=None),
        of_old,
        next(
            (
                Divergence(state, None, False, meter.created(state), found)
                for state, partner in both
                for found in (of_old.get(_rule_of(state)), of_new.get(_rule_of(partner)))
                if found and not found.agrees
            ),
            None,
        ),
        meter.gone,
    )


def _rule_of(state: ObservedState) -> tuple[OptimizerKey, Rule]:
    return state.optimizer, (state.process, state.rule)


def _largest(differences: Iterable[ArrayDifference]) -> ArrayDifference | None:
    return max(differences, key=lambda difference: difference.excess, default=None)


def _weight(difference: ArrayDifference) -> tuple[bool, float]:
    # Among differences that are too large, a parameter says more than a moment.
    return difference.excess > 1 and not difference.is_moment, difference.excess


def _when(divergence: Divergence) -> tuple[int, bool]:
    return max(divergence.state.step, default=0), divergence.difference is None


def _moves(states: Sequence[ObservedState]) -> bool:
    return len({(state.step, state.bits) for state in states}) > 1


def _is_between(last: ObservedState, this: ObservedState, then: ObservedState) -> bool:
    """True if a state has the step of one neighbour and the parameters of the other."""
    return (this.step == last.step and this.bits == then.bits) or (
        this.bits == last.bits and this.step == then.step
    )


def _pairs(
    states: Sequence[ObservedState], other_run: Sequence[ObservedState]
) -> tuple[list[tuple[ObservedState, ObservedState]], list[ObservedState]]:
    """Pairs of states with the same step, and the states for which there is no partner.

    Of several with the same step, the nearest is the partner: which training comes first may differ
    from run to run, if several processes train.
    """
    waiting: dict[tuple[int, ...], list[ObservedState]] = defaultdict(list)
    for other in other_run:
        waiting[other.step].append(other)
    pairs, left = [], []
    for state in states:
        others = waiting[state.step]
        if not others:
            left.append(state)
            continue
        distances = [_distance(state, other) for other in others] if len(others) > 1 else [0.0]
        pairs.append((state, others.pop(int(np.nanargmin([*distances, math.inf])))))
    return pairs, left


class _DifferenceMeter:
    """Measures differences, by how far arrays have come from the starts of the first run."""

    def __init__(
        self,
        starts: Sequence[ObservedState],
        grown: Mapping[int, list[float]],
        is_elsewhere: bool,
        injected: Container[tuple[OptimizerKey, Rule]],
    ) -> None:
        self._starts = starts
        self._grown = grown
        # Optimizers of the second run that do the same by themselves, with hyper-parameters in
        # single precision.
        self._injected = injected
        # Elsewhere, the parameters at the start are rounded as by one step.
        self._rounded = int(is_elsewhere)
        # A parameter whose moment is gone, by the ids of the states.
        self.gone: dict[int, str] = {}

    def created(self, state: ObservedState) -> list[ObservedState]:
        """The starts from which a state may have come: the nearest ones."""
        starts = [start for start in self._starts if start.what == state.what] or self._starts
        distances = [_distance(start, state) for start in starts]
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
        done = max((*map(abs, before.step), 0)) + self._rounded
        leaves = zip(before.optimizer.paths, before.leaves, after.leaves, strict=False)
        firsts = start.leaves or before.leaves
        came = [apart(*each)[1] for each in zip(firsts, before.leaves, strict=False)]
        farthest = max(came, default=0.0)
        grown = self._grown.get(id(after), itertools.repeat(0.0))
        injected = _rule_of(after) in self._injected
        for distance, size, (path, old, new) in zip(came, grown, leaves, strict=False):
            if old.digest != new.digest or old.dtype != new.dtype:
                came_so_far = distance, farthest
                yield _difference(path, old, new, came_so_far, done, grown=size, injected=injected)
        if (is_first or before.bits == after.bits) and before.moments and after.moments:
            # A training may have ended with other moments, and the same parameters.
            is_end = before.is_last and after.is_last
            of_after = after.moments[-1:] if is_end else after.moments
            yield from min(
                (
                    list(self._of_moments(before, moments, after, of_after, done))
                    for moments in (before.moments[-1:] if is_end else before.moments)
                ),
                key=lambda several: max((each.excess for each in several), default=0.0),
            )

    def _of_moments(
        self,
        before: ObservedState,
        moments: Sequence[Fingerprint],
        after: ObservedState,
        of_after: Sequence[Sequence[Fingerprint]],
        done: int,
    ) -> Iterator[ArrayDifference]:
        optimizer = before.optimizer
        new_moments = [each for several in of_after for each in several]
        farthest = max(map(_size, moments), default=0.0)
        for moment in moments:
            same_shape = [each for each in new_moments if each.shape == moment.shape]
            if any(each.digest == moment.digest for each in same_shape):
                continue
            if moment.shape not in optimizer.shapes:
                continue  # kept in another form than that of a parameter
            path = optimizer.paths[optimizer.shapes.index(moment.shape)]
            if not same_shape:
                # A momentum of zero is right without it: what the definitions do decides.
                self.gone[id(before)] = path
                continue
            came = _size(moment), farthest
            injected = _rule_of(after) in self._injected
            differences = [
                _difference(path, moment, each, came, done, is_moment=True, injected=injected)
                for each in same_shape
            ]
            yield min(differences, key=lambda each: each.excess)


def _distance(first: ObservedState, second: ObservedState) -> float:
    pairs = zip(first.leaves, second.leaves, strict=False)
    return math.sqrt(sum(apart(*pair)[1] ** 2 for pair in pairs))


def _difference(
    path: str,
    old: Fingerprint,
    new: Fingerprint,
    came: tuple[float, float],
    done: int,
    is_moment: bool = False,
    grown: float = 0.0,
    injected: bool = False,
) -> ArrayDifference:
    largest, usual = apart(old, new)
    distance, farthest = came
    # All gradients come from one pass. Where a leaf's gradient cancels out, as that of a bias of
    # keys, its roundings are those of numbers as large as in the other leaves.
    size = max(old.largest, new.largest, farthest)
    usually, allowed = (
        max(
            tolerance.at(done, distance, size, old.dtype, each)
            for tolerance in (Tolerance(), *[_OF_INJECTED] * injected)
        )
        for each in (0.0, grown)
    )
    with np.errstate(divide="ignore"):
        excess = float(np.float64(largest) / allowed) if largest else 0.0
    is_grown = usually < largest <= allowed
    return ArrayDifference(path, old, usual, distance, allowed, excess, is_moment, is_grown)


def apart(first: Fingerprint, second: Fingerprint) -> tuple[float, float]:
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
    return apart(array, array._replace(numbers=np.zeros_like(array.numbers)))[1]

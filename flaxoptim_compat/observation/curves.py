"""The errors of a run against another one, step by step, as a report that can be drawn."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flaxoptim_compat.checkpoint_files.dtypes import dtype_named
from flaxoptim_compat.observation.fingerprints import Fingerprint
from flaxoptim_compat.observation.pairing import parameter_of
from flaxoptim_compat.observation.records import ObservedState, Record
from flaxoptim_compat.observation.trajectories import (
    apart,
    grown_errors,
    paired_states,
    trainings,
)
from flaxoptim_compat.parity import partings
from flaxoptim_compat.parity.findings import PARAMETER, Parting, Track
from flaxoptim_compat.parity.renderings.wording import versions_text
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.parity.tolerance import Series, Tolerance, ulp_of

# An array of both runs, and its values in them.
_Column = tuple[Track, list[tuple[Fingerprint, Fingerprint]]]
_SUMS = (
    "Of arrays with many elements, sums of elements were recorded. Their errors and distances are"
    " estimates, by the size that is usual in such an array."
)


class Runs(NamedTuple):
    """Two runs of a command.

    Args:
      before: the first run.
      after: the second run, with the optimizers of the first; see ``pairing.paired``.
      control: as for ``trajectories.compare``.
    """

    before: Record
    after: Record
    control: Record | None = None


def report(
    several: Iterable[Runs],
    names: tuple[str, str],
    tolerance: float | Tolerance | None = None,
    with_moments: bool = True,
) -> Report | None:
    """The report on all trainings of which both runs have numbers; None if there are none.

    Args:
      several: the runs of each command.
      names: the names of the runs.
      tolerance: how far apart the runs may be; 0 demands every bit.
      with_moments: whether moments are compared too; those of trainings whose parameters differ by
        roundings differ by more.
    """
    allowed = Tolerance.of(tolerance)
    several = list(several)
    curves = [each for runs in several for each in _curves(runs)]
    if not curves:
        return None
    labels = _labels(curves) if len(curves) > 1 else [""]
    columns = [
        column
        for each, label in zip(curves, labels, strict=True)
        for column in each.columns(label, with_moments)
    ]
    tracks = [track for track, _ in columns]
    return Report(
        names=names,
        steps=max(each.last_step for each in curves),
        tracks=tracks,
        tolerance=allowed,
        first_difference=_parting(columns, [track.relative for track in tracks]),
        first_parting=_parting(columns, partings.beyond(tracks, allowed)),
        causes=(),
        loop="recorded",
        notes=tuple(_notes(several, columns)),
        versions=several[0].after.versions,
    )


def _curves(runs: Runs) -> Iterator[_Curves]:
    grown = {} if runs.control is None else grown_errors(runs.after, runs.control)
    is_elsewhere = runs.before.versions != runs.after.versions
    for optimizer, states in runs.before.states.items():
        partners = {
            id(old): (old, new)
            for old, new in paired_states(states, runs.after.states.get(optimizer, []))
            if old.leaves and new.leaves
        }
        for training in trainings(states):
            pairs = [partners[id(state)] for state in training if id(state) in partners]
            if pairs:
                yield _Curves(pairs, grown, is_elsewhere)


def _labels(curves: Sequence[_Curves]) -> Iterator[str]:
    """What stands before the parameters of each training: where it began, and its number there."""
    places = [each.place for each in curves]
    for number, place in enumerate(places):
        same = f" ({places[: number + 1].count(place)})" if places.count(place) > 1 else ""
        yield f"{os.path.basename(place.file)}:{place.number}{same} "


def _notes(several: Sequence[Runs], columns: Sequence[_Column]) -> Iterator[str]:
    if any(row[0][0].per_number > 1 for _, row in columns):
        yield _SUMS
    then = several[0].before.versions
    if then != several[0].after.versions:
        yield f"The first run was with {versions_text(then)}."
    if any(len(track.error) > 1 and track.error[0] > track.distance[1] for track, _ in columns):
        yield "The runs do not start from the same parameters."


def _parting(columns: Sequence[_Column], excess: Sequence[Series]) -> Parting | None:
    place = partings.first_place([track for track, _ in columns], excess)
    if place is None:
        return None
    entry, row = place
    track, column = columns[row]
    step, pair = int(track.steps[entry]), column[entry]
    if pair[0].per_number == pair[1].per_number == 1:
        return partings.parting(step, track, tuple(map(_array, pair)))
    ulps = track.error[entry] / ulp_of(track.largest, track.dtype)[entry]
    return Parting(step, track.leaf, track.quantity, (), (), float(ulps))


class _Curves:
    """The states of one training in two runs.

    Args:
      pairs: the states, in the order of the first run.
      grown: the errors in a control, by the ids of the states of the second run.
      is_elsewhere: whether the runs were on different versions or machines.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[ObservedState, ObservedState]],
        grown: Mapping[int, list[float]],
        is_elsewhere: bool,
    ) -> None:
        # A training may go back to a state that it had.
        by_step = {max(pair[0].step, default=0): pair for pair in reversed(pairs)}
        steps = sorted(by_step)
        self.last_step = steps[-1]
        self.place = pairs[0][0].place
        self._pairs = [by_step[step] for step in steps]
        self._steps = np.asarray(steps, np.float64)
        self._grown = grown
        self._is_elsewhere = is_elsewhere

    def columns(self, label: str, with_moments: bool) -> Iterator[_Column]:
        """The arrays that both runs have.

        Args:
          label: what stands before their names.
          with_moments: whether moments are among them.
        """
        for track, column in (*self._parameters(), *(self._moments() if with_moments else ())):
            yield dataclasses.replace(track, leaf=f"{label}{track.leaf}"), column

    def _parameters(self) -> Iterator[_Column]:
        paths = self._pairs[0][0].optimizer.paths
        grown = [self._grown.get(id(new), [0.0] * len(paths)) for _, new in self._pairs]
        columns = [
            (
                self._track(path, PARAMETER, (PARAMETER, PARAMETER), column, of_row),
                column,
            )
            for row, path in enumerate(paths)
            for column in [[(old.leaves[row], new.leaves[row]) for old, new in self._pairs]]
            for of_row in [np.asarray([each[row] for each in grown]) if self._grown else None]
        ]
        # As in ``trajectories``: a leaf whose gradient cancels out has the roundings of the others.
        farthest = np.max([track.distance for track, _ in columns], axis=0)
        for track, column in columns:
            rounds_as = np.fmax(track.largest, farthest)
            yield dataclasses.replace(track, rounds_as=rounds_as), column

    def _moments(self) -> Iterator[_Column]:
        """The moments that both runs have at all steps.

        Those with other paths are paired if they belong to the same parameter: the nearest ones.
        """
        states = [
            tuple({moment.path: moment for moment in each.moments[0]} for each in pair)
            for pair in self._pairs
            if all(each.moments for each in pair)
        ]
        if len(states) < len(self._pairs):
            return
        paths = self._pairs[0][0].optimizer.paths
        free = set(states[0][1])
        for path, first in states[0][0].items():
            of = parameter_of(path, paths)
            like = [path] if path in free else sorted(free)
            columns = {
                other: [(old[path], new[other]) for old, new in states]
                for other in like
                if parameter_of(other, paths) == of and states[0][1][other].shape == first.shape
                if all(path in old and other in new for old, new in states)
            }
            if of is None or not columns:
                continue
            other = min(columns, key=lambda each: sum(apart(*pair)[0] for pair in columns[each]))
            free -= {other}
            names = _without(path, of), _without(other, of)
            yield self._track(of, names[1], names, columns[other]), columns[other]

    def _track(
        self,
        leaf: str,
        quantity: str,
        names: tuple[str, str],
        column: list[tuple[Fingerprint, Fingerprint]],
        grown: Series | None = None,
    ) -> Track:
        start, _ = column[0]
        distance = [apart(start, old)[0] for old, _ in column]
        largest = [np.fmax(old.largest, new.largest) for old, new in column]
        return Track(
            leaf,
            quantity,
            names,
            start.shape,
            dtype_named(start.dtype) or np.dtype(np.float32),
            error=np.asarray([apart(*pair)[0] for pair in column]),
            distance=np.fmax.accumulate(distance),
            largest=np.fmax.accumulate(largest),
            grown=grown,
            at=self._steps,
            rounded=int(self._is_elsewhere),
        )


def _array(array: Fingerprint) -> Any:
    """The array that a fingerprint has as it is."""
    dtype = dtype_named(array.dtype) or np.dtype(np.float64)
    numbers = array.numbers.view(np.complex128) if dtype.kind == "c" else array.numbers
    return numbers.astype(dtype).reshape(array.shape)


def _without(path: str, parameter: str) -> str:
    """The path of a moment without that of its parameter, and without numbers of parts."""
    rest = f"/{path}/".replace(f"/{parameter}/", "/", 1) if parameter else path
    return "/".join(part for part in rest.split("/") if part and not part.isdecimal())

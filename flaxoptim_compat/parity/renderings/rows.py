"""The rows of a report: the worst errors of each array, and the steps at which it parts."""

from __future__ import annotations

import dataclasses

import numpy as np

from flaxoptim_compat.parity.findings import PARAMETER, Findings, Track

# The measures of an error, by the headings of their columns.
METRICS = {
    "error": "error",
    "relative": "relative",
    "ulps": "ulp",
    "to_distance": "of distance",
}


@dataclasses.dataclass(frozen=True)
class ArrayRow:
    """One array in one line of a table.

    Args:
      track: the array of both runs.
      worst: the largest value of each metric over all steps; NaN if the error is NaN, infinite
        also where there is no scale, as in parts of the distance of an array that has not moved.
      not_finite: the numbers that are not finite and differ on the two sides, in words; None if
        there are none.
      not_finite_step: the first step with such numbers.
      first_difference: the first step at which the two sides are not the same numbers.
      first_parting: the first step at which they are further apart than allowed.
    """

    track: Track
    worst: dict[str, float]
    not_finite: str | None
    not_finite_step: int | None
    first_difference: int | None
    first_parting: int | None

    @property
    def parts(self) -> bool:
        """True if the two sides are ever further apart than allowed."""
        return self.first_parting is not None

    @property
    def identical(self) -> bool:
        """True if the two sides are the same numbers at every step."""
        return self.first_difference is None


def rows(report: Findings) -> list[ArrayRow]:
    """A row for each array: arrays that part come first, parameters before moments, then by error.

    Errors are ordered by their part of the distance travelled, which compares arrays of any scale.
    Arrays that are not finite come first, in the order of the steps at which they became so.
    """
    return sorted((_row(track, report) for track in report.tracks), key=_rank)


def _row(track: Track, report: Findings) -> ArrayRow:
    if not track.differing.any():
        return ArrayRow(track, dict.fromkeys(METRICS, 0.0), None, None, None, None)
    not_finite, step = _not_finite(track, report)
    return ArrayRow(
        track,
        {name: float(getattr(track, name).max()) for name in METRICS},
        not_finite,
        step,
        _first(track, track.differing),
        # An error that is NaN is not allowed either.
        _first(track, ~(track.error <= track.allowed(report.tolerance))),
    )


def _first(track: Track, entries: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int | None:
    return int(track.steps[np.argmax(entries)]) if entries.any() else None


def _not_finite(track: Track, report: Findings) -> tuple[str | None, int | None]:
    """The kind of number that is not finite, on which side if known, and from which step on."""
    step = _first(track, ~np.isfinite(track.error))
    if step is None:
        return None, None
    # The difference of two infinities may be infinite, but with NaN on both sides there is none.
    nan = np.isnan(track.error[track.entry_of(step)])
    for parting in (report.first_parting, report.first_difference):
        if parting is None or parting.not_finite is None:
            continue
        if (parting.leaf, parting.quantity, parting.step) == (track.leaf, track.quantity, step):
            if parting.not_finite == "both":
                return "NaN against infinity" if nan else "infinities that differ", step
            return f"{'NaN' if nan else 'infinity'} in the {parting.not_finite} only", step
    return "NaN on one side only" if nan else "infinity, not on both sides", step


def _rank(row: ArrayRow) -> tuple[bool, bool, float, float, float, float, str, str]:
    track, worst = row.track, row.worst
    errors = (np.nan_to_num(worst[name], nan=0.0) for name in ("to_distance", "ulps", "error"))
    to_distance, ulps, error = (-float(each) for each in errors)
    return (
        not row.parts,
        track.quantity != PARAMETER,
        float("inf") if row.not_finite_step is None else row.not_finite_step,
        to_distance,
        ulps,
        error,
        track.leaf,
        track.quantity,
    )

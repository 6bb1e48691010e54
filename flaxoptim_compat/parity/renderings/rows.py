"""One row for each array of a report: its worst errors, and the steps at which it parts."""

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
class Row:
    """One array in one line of a table.

    Args:
      track: the array of both runs.
      worst: the largest value of each metric over all steps; NaN if the error is NaN, infinite
        also where it cannot be measured, as by the distance of an array that has not moved.
      not_finite: what is not finite on one side and otherwise on the other; None if nothing is.
      not_finite_step: the first step at which that is so.
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


def rows(report: Findings) -> list[Row]:
    """A row for each array: those that part first, then parameters before moments, then by error.

    Errors are ordered by their part of the distance travelled, which compares arrays of any scale;
    what is not finite comes first, by the step at which it became so.
    """
    return sorted((_row(track, report) for track in report.tracks), key=_rank)


def _row(track: Track, report: Findings) -> Row:
    if not track.differing.any():
        return Row(track, dict.fromkeys(METRICS, 0.0), None, None, None, None)
    not_finite, step = _not_finite(track, report)
    return Row(
        track,
        {name: float(getattr(track, name).max()) for name in METRICS},
        not_finite,
        step,
        _first(track.differing),
        # An error that is NaN is not allowed either.
        _first(~(track.error <= track.allowed(report.tolerance))),
    )


def _first(steps: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int | None:
    return int(np.argmax(steps)) if steps.any() else None


def _not_finite(track: Track, report: Findings) -> tuple[str | None, int | None]:
    """The kind of number that is not finite, on which side if known, and from which step on."""
    step = _first(~np.isfinite(track.error))
    if step is None:
        return None, None
    # The difference of two infinities may be infinite, but with NaN on both sides there is none.
    nan = np.isnan(track.error[step])
    for parting in (report.first_parting, report.first_difference):
        if parting is None or parting.not_finite is None:
            continue
        if (parting.leaf, parting.quantity, parting.step) == (track.leaf, track.quantity, step):
            if parting.not_finite == "both":
                return "NaN against infinity" if nan else "infinities that differ", step
            return f"{'NaN' if nan else 'infinity'} in the {parting.not_finite} only", step
    return "NaN on one side only" if nan else "infinity, not on both sides", step


def _rank(row: Row) -> tuple[bool, bool, float, float, float, float, str, str]:
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

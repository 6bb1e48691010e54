"""The parting of two runs: the first step and leaf in the measured errors, and the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flaxoptim_compat.parity.findings import PARAMETER, Parting, Track, ratio
from flaxoptim_compat.parity.tolerance import Series, Tolerance


def first_place(tracks: Sequence[Track], excess: Sequence[Series]) -> tuple[int, int] | None:
    """The entry of the first step at which an array is in excess, and the array most in excess.

    Of several arrays at one step, parameters go before moments, and arrays that are not finite
    before the others.

    Args:
      tracks: the arrays.
      excess: the excess of each array at each of its entries: 0 is none, and NaN the most.
    """
    entries = [int(np.argmax(each != 0)) for each in excess]
    rows = [row for row, each in enumerate(excess) if (each != 0).any()]
    if not rows:
        return None
    steps = [float(track.steps[entry]) for track, entry in zip(tracks, entries, strict=True)]
    first = min(steps[row] for row in rows)

    def rank(row: int) -> tuple[bool, float]:
        amount = np.nan_to_num(excess[row][entries[row]], nan=np.inf, posinf=np.inf)
        return tracks[row].quantity == PARAMETER, float(amount)

    row = max((row for row in rows if steps[row] == first), key=rank)
    return entries[row], row


def beyond(tracks: Sequence[Track], tolerance: Tolerance) -> list[Series]:
    """The error of each array as a multiple of the allowed error; 0 where it is allowed."""
    excess = []
    for track in tracks:
        allowed = track.allowed(tolerance)
        excess.append(np.where(track.error <= allowed, 0.0, ratio(track.error, allowed)))
    return excess


def parting_parameters(tracks: Sequence[Track], tolerance: Tolerance) -> list[int]:
    """The parameters in which the runs part, by their numbers among the parameters."""
    parameters = [track for track in tracks if track.quantity == PARAMETER]
    # An error that is NaN is beyond as well.
    return [i for i, excess in enumerate(beyond(parameters, tolerance)) if (excess != 0).any()]


def parting(step: int, track: Track, arrays: tuple[Any, Any]) -> Parting:
    """The place of the largest difference of two arrays that differ, and both values.

    Args:
      step: how many steps had been done.
      track: the track of the arrays.
      arrays: the array of the first side and that of the second.
    """
    first, second = map(np.asarray, arrays)
    worst = int(np.argmax(differences(first, second)))
    index = tuple(map(int, np.unravel_index(worst, first.shape)))
    values = (first[index], second[index])
    return Parting(
        step=step,
        leaf=track.leaf,
        quantity=track.quantity,
        index=index,
        values=values,
        ulps=_ulps(values, track.dtype),
        not_finite=_not_finite(*map(wide, values)),
    )


def differences(first: Any, second: Any) -> Series:
    """The distance of the elements of two arrays, in double precision."""
    a, b = wide(first), wide(second)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(a - b)
        # NaN on one side only, or another infinity, is the largest difference there can be.
        apart = np.where(np.isfinite(apart), apart, np.inf)
        return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, apart)


def wide(array: Any) -> Any:
    """An array in double precision."""
    array = np.asarray(array)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _not_finite(first: Any, second: Any) -> str | None:
    finite = bool(np.isfinite(first)), bool(np.isfinite(second))
    return {(True, True): None, (False, True): "first", (True, False): "second"}.get(finite, "both")


def _ulps(values: tuple[Any, Any], dtype: np.dtype[Any]) -> float:
    """The distance of two numbers in units in the last place."""
    if not np.all(np.isfinite([wide(value) for value in values])):
        return np.inf
    if dtype.kind == "c":
        parts = np.dtype(f"f{dtype.itemsize // 2}")
        return max(
            _ulps((values[0].real, values[1].real), parts),
            _ulps((values[0].imag, values[1].imag), parts),
        )
    if dtype.kind in "iub":
        return float(abs(wide(values[0]) - wide(values[1])))
    first, second = (_ordinal(np.asarray(value).astype(dtype)) for value in values)
    return float(abs(first - second))


def _ordinal(value: Any) -> int:
    """The rank of a floating-point number among all of its dtype, counted from 0."""
    bits = int(value.view(f"u{value.dtype.itemsize}"))
    sign = 1 << (8 * value.dtype.itemsize - 1)
    return sign - bits if bits & sign else bits

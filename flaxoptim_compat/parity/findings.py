"""The findings of a comparison: the errors of each leaf at each step, and where two runs part."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flaxoptim_compat.parity.tolerance import Series, Tolerance, ulp_of

PARAMETER = "parameter"


@dataclasses.dataclass(frozen=True, eq=False)
class Track:
    """One array of both runs, step by step; entry 0 of each series is before the first step.

    Args:
      leaf: the path of the parameter, such as ``dense/kernel``.
      quantity: ``parameter``, or the moment of it, by the name that optax gives it.
      names: the names of the quantity on the two sides: ``("grad_ema", "mu")``.
      shape: the shape of the array.
      dtype: the coarser dtype of the two sides.
      error: the largest absolute difference of two elements; NaN or infinite where one side only is
        not finite.
      distance: the farthest that a finite element of the first side has been from where it started.
      largest: the largest absolute value that a finite element of either side has had so far.
      grown: the error of one side against itself, with all parameters and gradients one unit in the
        last place off; None if that was not tried.
      at: how many steps had been done at each entry; None if entry 1 is after the first, and so on.
      rounded: how many roundings came before the first step, as in parameters that were made on
        different machines.
      rounds_as: the value whose roundings are allowed at each step, if that is not the largest one
        in the array.
    """

    leaf: str
    quantity: str
    names: tuple[str, str]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    error: Series
    distance: Series
    largest: Series
    grown: Series | None = None
    at: Series | None = None
    rounded: int = 0
    rounds_as: Series | None = None

    @property
    def steps(self) -> Series:
        """How many steps had been done at each entry."""
        return np.arange(len(self.error), dtype=np.float64) if self.at is None else self.at

    def entry_of(self, step: int) -> int:
        """The entry after so many steps."""
        return int(np.searchsorted(self.steps, step))

    def allowed(self, tolerance: Tolerance) -> Series:
        """The largest error that passes, at each step."""
        done = self.steps + self.rounded
        largest = self.largest if self.rounds_as is None else self.rounds_as
        return tolerance.allowed(self.distance, largest, self.dtype, self.grown, done)

    @property
    def relative(self) -> Series:
        """The error in parts of the largest value in the array."""
        return ratio(self.error, self.largest)

    @property
    def ulps(self) -> Series:
        """The error in units in the last place of the largest value in the array."""
        return ratio(self.error, ulp_of(self.largest, self.dtype))

    @property
    def to_distance(self) -> Series:
        """The error in parts of the distance travelled."""
        return ratio(self.error, self.distance)

    @property
    def differing(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """At which steps the two sides are not the same number everywhere."""
        return np.asarray(self.error != 0)


def ratio(error: Series, scale: Series) -> Series:
    """Error over scale, 0 where there is no error at all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error == 0, 0.0, error / scale)


@dataclasses.dataclass(frozen=True)
class Parting:
    """The first step and leaf at which two runs differ, and the worst element there.

    Args:
      step: how many steps had been done; 0 is before the first.
      leaf: the path of the parameter.
      quantity: ``parameter``, or the name of a moment.
      index: the index of the element that differs most.
      values: the element in the first run and in the second; empty if it is not known.
      ulps: how many floating-point numbers lie between the two values, plus one.
      not_finite: which side has NaN or infinity there: ``first``, ``second``, ``both`` (not the
        same), or None where both numbers are finite.
    """

    step: int
    leaf: str
    quantity: str
    index: tuple[int, ...]
    values: tuple[Any, ...]
    ulps: float
    not_finite: str | None = None


@dataclasses.dataclass(frozen=True)
class Cause:
    """A known reason for two runs to part, that explains the second run when put into the first.

    Args:
      key: a short name that does not change: ``eps-inside-root``.
      summary: the difference of the second side from the first, in one sentence.
      remedy: the code to write instead.
    """

    key: str
    summary: str
    remedy: str


@dataclasses.dataclass(frozen=True, eq=False)
class Findings:
    """All that is known of two runs that were compared after each step.

    Args:
      names: the names of the two sides.
      steps: how many steps were done; the last of them, if not all were compared.
      tracks: the parameters, and the moments that both sides keep.
      tolerance: the tolerance of the comparison.
      first_difference: where the runs first are not the same numbers; None if they always are.
      first_parting: where they first are further apart than allowed; None if they never are.
      causes: the known mistakes that together explain the parting; empty if none do.
      loop: ``open`` where both sides were given the same gradients, ``closed`` where each side's
        gradients were taken at its own parameters, ``recorded`` where these are runs of programs.
      notes: sentences for the reader, such as on moments that only one side has.
      versions: the versions of jax and other packages, and the device.
    """

    names: tuple[str, str]
    steps: int
    tracks: Sequence[Track]
    tolerance: Tolerance
    first_difference: Parting | None
    first_parting: Parting | None
    causes: tuple[Cause, ...]
    loop: str
    notes: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def equal(self) -> bool:
        """True if the runs are never further apart than allowed."""
        return self.first_parting is None

    @property
    def compared(self) -> int:
        """How many steps were compared."""
        return max((len(track.error) for track in self.tracks), default=1) - 1

    @property
    def identical(self) -> bool:
        """True if the runs are the same numbers at every step."""
        return self.first_difference is None

    def track_of(self, parting: Parting | None) -> Track | None:
        """The array in which two runs part."""
        place = parting and (parting.leaf, parting.quantity)
        return next((each for each in self.tracks if (each.leaf, each.quantity) == place), None)

    def __bool__(self) -> bool:
        raise TypeError("Say what you mean: report.equal, or report.identical for every bit.")

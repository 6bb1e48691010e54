"""The distance at which two runs still count as the same."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np

from flaxoptim_compat.parity.errors import ParityError

Series = np.ndarray[Any, np.dtype[np.float64]]

# Another order of operations in each step of a float32 run makes a few times this error.
_OF_FLOAT32 = 5e-6
_ROUNDINGS = 8.0


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """An error passes if it is small against the distance travelled, or no more than rounding.

    At step t an array passes if its largest error is at most

      max(relative · distance, roundings · √t · ulp)

    where distance is the farthest that an element has come from its start, and ulp is the unit in
    the last place of the largest value in the array, on either side. Storing a result rounds it;
    roundings at each step add up like a random walk. Where a difference grows from step to step,
    roundings · √t times as much passes as one ulp in all parameters and gradients has grown to.
    Integers have to be equal.

    Args:
      relative: part of the distance; None is 5e-6 for float32, and for another dtype as much more
        or less as its precision is.
      roundings: units in the last place.
    """

    relative: float | None = None
    roundings: float = _ROUNDINGS

    @classmethod
    def of(cls, tolerance: float | Tolerance | None) -> Tolerance:
        """The tolerance that an argument means: None the default, 0 every bit.

        Raises:
          ParityError: a negative number, or NaN.
        """
        if tolerance is None:
            return cls()
        if isinstance(tolerance, Tolerance):
            return tolerance
        if not tolerance >= 0:
            raise ParityError(
                f"tolerance={tolerance}: give a number from 0 up; 0 demands every bit."
            )
        return cls(float(tolerance), _ROUNDINGS if tolerance else 0.0)

    @property
    def exact(self) -> bool:
        """True if no difference at all is allowed."""
        return self.relative == 0 and self.roundings == 0

    def allowed(
        self,
        distance: Series,
        largest: Series,
        dtype: np.dtype[Any],
        grown: Series | None = None,
        steps: Series | None = None,
    ) -> Series:
        """The largest error that passes at each step of an array.

        Args:
          distance: the farthest that an element has been from its start.
          largest: the largest value so far.
          dtype: the dtype of the array.
          grown: the size to which errors of one unit in the last place have grown.
          steps: how many steps had been done at each entry of the series; None for 0, 1 and so on.
        """
        if not _is_inexact(dtype):
            return np.zeros_like(distance)
        relative = self.relative
        if relative is None:
            relative = _OF_FLOAT32 * float(_info(dtype).eps) / float(np.finfo(np.float32).eps)
        done = np.arange(len(distance)) if steps is None else steps
        roundings = self.roundings * np.sqrt(done)
        allowed = np.fmax(relative * distance, roundings * ulp_of(largest, dtype))
        return allowed if grown is None else np.fmax(allowed, roundings * grown)

    def at(
        self, step: int, distance: float, largest: float, dtype: str, grown: float = 0.0
    ) -> float:
        """The largest error that passes at one step.

        Args:
          step: how many steps were done.
          distance: as for ``allowed``.
          largest: as for ``allowed``.
          dtype: the name of the dtype of the array.
          grown: as for ``allowed``.
        """
        series = np.asarray([[distance], [largest], [grown], [step]], np.float64)
        return float(self.allowed(series[0], series[1], np.dtype(dtype), *series[2:])[0])


def ulp_of(values: Series, dtype: np.dtype[Any]) -> Series:
    """The unit in the last place of numbers of a dtype; 1 for integers."""
    if not _is_inexact(dtype):
        return np.ones_like(values)
    info = _info(dtype)
    sizes = np.where(np.isfinite(values), values, float(info.max))
    exponent = np.floor(np.log2(np.fmax(sizes, float(info.tiny))))
    return np.asarray(np.exp2(exponent) * float(info.eps))


def _info(dtype: np.dtype[Any]) -> Any:
    """The ``finfo`` of a dtype, bfloat16 and the like included."""
    finfo: Any = ml_dtypes.finfo
    return finfo(dtype)


def _is_inexact(dtype: np.dtype[Any]) -> bool:
    try:
        return _info(dtype) is not None
    except ValueError:
        return False

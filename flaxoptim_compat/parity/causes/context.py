"""What the search for a cause is told of the comparison that it explains."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from flaxoptim_compat.parity.gradients import Gradients
from flaxoptim_compat.parity.overrides import Overrides
from flaxoptim_compat.parity.partings import parameters_part
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.parity.tolerance import Tolerance

# So many steps, or twice as many as it took to part, must fit.
_LEAST_STEPS = 20
# What Tolerance() allows in float32.
_USUAL = 5e-6


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """A comparison of two sides that parted.

    Args:
      params: the parameters that sides start from, unless they bring their own.
      grads: the gradients.
      overrides: the hyper-parameters that are set at each step.
      functions: those overrides that are functions of the step, by name.
      steps: how many steps were done.
      parted: after which step the sides had parted.
      tolerance: how far apart two runs may be that are called the same.
      runs: compares two other sides in the same way, for so many steps, with that tolerance, and
        looks for no cause.
    """

    params: Any
    grads: Gradients
    overrides: Overrides
    functions: Mapping[str, Callable[[int], Any]]
    steps: int
    parted: int
    tolerance: Tolerance
    runs: Callable[[Any, Any, int], Report]

    @property
    def window(self) -> int:
        """For how many steps a variant has to fit."""
        known = self.steps
        # With its own schedule a side may need the rate of one step more than there are.
        if "learning_rate" in self.overrides.changing and self.parted < self.steps - 1:
            known -= 1
        return min(known, max(_LEAST_STEPS, 2 * self.parted))

    def confirms(self, first: Any, second: Any) -> bool:
        """Whether the parameters of two sides never part; moments may be of another scale."""
        report = self.runs(first, second, self.window)
        return not parameters_part(report.tracks, self.tolerance)


def fitting(tolerance: Tolerance) -> Tolerance:
    """The tolerance to fit with: the usual one, but for a comparison that has a stricter one.

    A fit within a looser one would explain nothing, and to the bit nothing would fit.
    """
    stricter = tolerance.relative is not None and 0 < tolerance.relative < _USUAL
    return tolerance if stricter else Tolerance()

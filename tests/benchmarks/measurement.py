"""What a measurement found: one row of the report."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """That of some values; of few, the extremes stand for the quartiles."""
        if len(values) < 4 or math.inf in values:
            return cls(statistics.median(values), min(values), max(values))
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass(frozen=True)
class Bar:
    """What a ratio of two subjects should be: at most, or at least, a number.

    Without a denominator it is the number itself that is limited, in the unit of the row.
    """

    numerator: str
    denominator: str
    limit: float
    at_least: bool = False

    def reached(self, ratio: float) -> bool:
        """Whether a ratio is good enough."""
        return ratio >= self.limit if self.at_least else ratio <= self.limit


@dataclass(frozen=True)
class Measurement:
    """One row: what was measured, in which setting, for each subject, and the bars it has.

    ``samples`` has one list for each subject, in the order of the rounds: the samples of a round
    were taken one after the other, so their ratios mean something on a noisy machine.
    """

    work: str
    setting: str
    unit: str
    samples: Mapping[str, Sequence[float]]
    bars: Sequence[Bar] = field(default=())
    # What the limit is and why, where a bar cannot be reached.
    note: str = ""

    def spread(self, subject: str) -> Spread:
        """Median and quartiles of one subject."""
        return Spread.of(self.samples[subject])

    def ratio(self, bar: Bar) -> Spread:
        """Median and quartiles of the ratios, round by round."""
        above = self.samples[bar.numerator]
        if not bar.denominator:
            return Spread.of(above)
        pairs = zip(above, self.samples[bar.denominator], strict=True)
        return Spread.of([_quotient(*pair) for pair in pairs])

    def reached(self, bar: Bar) -> bool | None:
        """Whether a bar is reached; None where it lies between the quartiles.

        Two subjects that run the same code are measured on either side of 1 as it happens.
        """
        spread = self.ratio(bar)
        verdicts = {bar.reached(each) for each in (spread.low, spread.median, spread.high)}
        return verdicts.pop() if len(verdicts) == 1 else None


def _quotient(above: float, below: float) -> float:
    # Counts may be 0, and nothing is as much as nothing.
    if below == 0:
        return 1.0 if above == 0 else math.inf
    return above / below


@dataclass(frozen=True)
class Effort:
    """How long to measure: ``quick`` takes few rounds and the smallest settings."""

    quick: bool
    report: Callable[[str], None]

    def rounds(self, usual: int) -> int:
        """How often to repeat."""
        return max(2, usual // 5) if self.quick else usual

    def up_to(self, sizes: Sequence[int]) -> Sequence[int]:
        """The sizes to measure: all, or the smallest."""
        return sizes[:1] if self.quick else sizes


LINEAR = 1.2


class Sized(NamedTuple):
    """A measurement of so many units, such as leaves, and what that size is called."""

    size: str
    units: int
    row: Measurement


def growth(setting: str, subject: str, smaller: Sized, larger: Sized) -> Measurement:
    """A row with a subject's time for each unit of both sizes, which should be the same."""
    # A larger size is measured in fewer rounds.
    rounds = min(len(each.row.samples[subject]) for each in (smaller, larger))
    samples = {
        f"{subject}, {each.size}": [
            time / each.units for time in each.row.samples[subject][:rounds]
        ]
        for each in (smaller, larger)
    }
    below, above = samples
    bar = Bar(above, below, LINEAR)
    return Measurement(larger.row.work, setting, larger.row.unit, samples, (bar,))

"""How a cost grows: that of a large size for each of its units, beside that of a smaller one."""

from __future__ import annotations

from typing import NamedTuple

from tests.benchmarks.measurement import Bar, Measurement
from tests.benchmarks.subjects import OURS

LINEAR = 1.2


class Sized(NamedTuple):
    """A measurement of so many units, such as leaves, and what that size is called."""

    size: str
    units: int
    row: Measurement


def growth(setting: str, smaller: Sized, larger: Sized) -> Measurement:
    """A row with the time of ours for each unit of both sizes, which should be the same."""
    # A larger size is measured in fewer rounds.
    rounds = min(len(each.row.samples[OURS]) for each in (smaller, larger))
    samples = {
        f"ours, {each.size}": [time / each.units for time in each.row.samples[OURS][:rounds]]
        for each in (smaller, larger)
    }
    below, above = samples
    bar = Bar(above, below, LINEAR)
    return Measurement(larger.row.work, setting, larger.row.unit, samples, (bar,))

"""The report in a terminal: a line for each bar of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flaxoptim_compat.columns import in_columns
from tests.benchmarks import words
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.recording import Recording
from tests.benchmarks.subjects import BY_HAND, GENUINE, OURS

SUBJECTS = (OURS, GENUINE, BY_HAND)
HEADINGS = ("work", "setting", *SUBJECTS, "beside", "ratio (quartiles)", "bar", "")


def lines(recording: Recording) -> Iterator[str]:
    """The table, the notes on what was not reached, and the machine."""
    cells = [HEADINGS, *(line for row in recording.rows for line in _of(row))]
    yield from in_columns(cells)
    yield ""
    for row in recording.rows:
        if row.note and not all(map(row.reached, row.bars)):
            yield f"{row.work}, {row.setting}: {row.note}"
    yield f"{words.counted(recording.rows)}{', measured quickly' * recording.quick}."
    yield words.machine(recording.machine)


def values(row: Measurement) -> list[str]:
    """The median of each of the three, and of what else they were measured beside."""
    known = [
        words.quantity(row.spread(each).median, row.unit) if each in row.samples else ""
        for each in SUBJECTS
    ]
    others = (
        f"{each}: {words.quantity(row.spread(each).median, row.unit)}"
        for each in row.samples
        if each not in SUBJECTS
    )
    return [*known, ", ".join(others)]


def _of(row: Measurement) -> Iterator[Sequence[str]]:
    first = (row.work, row.setting, *values(row))
    for bar in row.bars:
        yield *first, words.found(row, bar), words.asked(row, bar), words.verdict(row, bar)
        first = ("",) * len(first)
    if not row.bars:
        yield *first, "", "", ""

"""A recording as Markdown: a short table for the README, all of it for the guide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.benchmarks import words
from tests.benchmarks.measurement import Bar, Measurement
from tests.benchmarks.recording import Recording
from tests.benchmarks.table import values

_SHORT = ("work", "bars", "the bar furthest out of reach, or reached with the least to spare")
_ALL = ("setting", "ours", "genuine", "by hand", "beside", "asked", "measured", "")


def summary(recording: Recording) -> str:
    """A table with a line for each kind of work, and the machine."""
    lines = [_line(_SHORT), _line(["---"] * len(_SHORT))]
    for work, rows in _by_work(recording):
        row, bar = max(_bars(rows), key=lambda each: _distance(*each))
        measured = f"{row.setting}: {words.asked(row, bar)}, measured {words.found(row, bar)}"
        lines.append(_line((work, words.counted(rows), measured)))
    return "\n".join([*lines, "", _where(recording)])


def everything(recording: Recording) -> str:
    """A table for each kind of work, with what is said about bars that are not reached."""
    sections = [_where(recording)]
    for work, rows in _by_work(recording):
        lines = [_line(_ALL), _line(["---"] * len(_ALL))]
        lines += [_line(line) for row in rows for line in _of(row)]
        sections += [
            f"### {work}",
            f"{_capital(words.counted(rows) or 'only recorded')}.",
            "\n".join(lines),
        ]
        notes = [f"- {row.setting}: {row.note}" for row in rows if row.note and _misses(row)]
        sections += ["\n".join(notes)] if notes else []
    return "\n\n".join(sections)


def _by_work(recording: Recording) -> Iterator[tuple[str, Sequence[Measurement]]]:
    for work in dict.fromkeys(row.work for row in recording.rows):
        yield work, [row for row in recording.rows if row.work == work]


def _bars(rows: Iterable[Measurement]) -> Iterator[tuple[Measurement, Bar]]:
    return ((row, bar) for row in rows for bar in row.bars)


def _distance(row: Measurement, bar: Bar) -> tuple[int, float]:
    """How far from reached: by its verdict, and then by the factor to the limit."""
    verdict = [True, None, False].index(row.reached(bar))
    measured = row.ratio(bar).median
    above, below = (bar.limit, measured) if bar.at_least else (measured, bar.limit)
    return verdict, above / below if below else 0.0


def _of(row: Measurement) -> Iterator[Sequence[str]]:
    first = [row.setting, *values(row)]
    for bar in row.bars:
        yield *first, words.asked(row, bar), words.found(row, bar), words.verdict(row, bar)
        first = [""] * len(first)
    if not row.bars:
        yield *first, "", "", ""


def _misses(row: Measurement) -> bool:
    return not all(map(row.reached, row.bars))


def _where(recording: Recording) -> str:
    how = "Measured with `--quick` on" if recording.quick else "Measured on"
    return f"{how} {words.machine(recording.machine)}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

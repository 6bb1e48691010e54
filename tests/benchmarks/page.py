"""A recording as Markdown: three sentences for the README, all of it for the guide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.benchmarks import words
from tests.benchmarks.checkpoints import READ_AND_WRITE
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.recording import Recording
from tests.benchmarks.subjects import BY_HAND, GENUINE, OURS

_ALL = ("setting", "ours", "genuine", "by hand", "other", "bar", "ratio (quartiles)", "result")


def summary(recording: Recording) -> str:
    """What a user asks: inside jit, outside of it, and a checkpoint."""
    times = _ratios(recording, "compiled step", "time, ", "1000 × 64²", BY_HAND)
    outside = _ratios(recording, "outside jit", "step, ", "1000 × 64²", GENUINE)
    # Three arrays for each of these parameters.
    large = "22 × 4 MB, msgpack"
    (convert,) = _ratios(recording, "checkpoints", "convert, ", large, READ_AND_WRITE)
    return "\n".join(
        [
            f"- In `jit`, a step takes {min(times):.2f} to {max(times):.2f} times as long as with"
            " optax by hand, for five optimizers of a thousand matrices.",
            f"- Outside `jit`, it is {min(outside):.1f} to {max(outside):.0f} times as fast as with"
            " `flax.optim`.",
            f"- A checkpoint of 264 MB is converted in {convert:.2f} times the time in which Flax"
            " reads and writes it.",
        ]
    )


def _ratios(recording: Recording, work: str, begins: str, ends: str, beside: str) -> list[float]:
    """The medians of what the rows of one setting were measured with, beside something."""
    return [
        row.ratio(bar).median
        for row in recording.rows
        if row.work == work and row.setting.startswith(begins) and row.setting.endswith(ends)
        for bar in row.bars
        if {bar.numerator, bar.denominator} == {OURS, beside}
    ]


def summary_of_gpu(recording: Recording) -> str:
    """The same of a GPU, in a line: inside jit, and outside of it."""
    times = _ratios(recording, "compiled step", "time, ", "128 × 2048²", BY_HAND)
    outside = _ratios(recording, "outside jit", "step, ", "100 × 64²", GENUINE)
    gpu = recording.machine["device"].partition("×")[2].strip()
    return (
        f"- On a GPU, {gpu}, a step in `jit` takes {min(times):.2f} to {max(times):.2f} times as"
        " long as by hand, for 537 million parameters; outside `jit` it is"
        f" {min(outside):.0f} to {max(outside):.0f} times as fast as with `flax.optim`."
    )


def everything(recording: Recording, where: str = "") -> str:
    """A table for each kind of work, with what is said about bars that are not reached.

    Args:
      recording: what was measured.
      where: what the headings say after the kind of work.
    """
    sections = [_where(recording)]
    for work, rows in _by_work(recording):
        lines = [_line(_ALL), _line(["---"] * len(_ALL))]
        lines += [_line(line) for row in rows for line in _of(row)]
        sections += [
            f"### {work}{where}",
            f"{_capital(words.counted(rows) or 'only recorded')}.",
            "\n".join(lines),
        ]
        notes = [f"- {row.setting}: {row.note}" for row in rows if row.note and _misses(row)]
        sections += ["\n".join(notes)] if notes else []
    return "\n\n".join(sections)


def _by_work(recording: Recording) -> Iterator[tuple[str, Sequence[Measurement]]]:
    for work in dict.fromkeys(row.work for row in recording.rows):
        yield work, [row for row in recording.rows if row.work == work]


def _of(row: Measurement) -> Iterator[Sequence[str]]:
    first = [row.setting, *_values(row)]
    for bar in row.bars:
        yield *first, words.asked(row, bar), words.found(row, bar), words.verdict(row, bar)
        first = [""] * len(first)
    if not row.bars:
        yield *first, "", "", ""


def _values(row: Measurement) -> list[str]:
    """The median of each of the three, and of what else they were measured beside."""
    medians = {each: words.quantity(row.spread(each).median, row.unit) for each in row.samples}
    known = [medians.pop(each, "") for each in (OURS, GENUINE, BY_HAND)]
    return [*known, ", ".join(f"{each}: {median}" for each, median in medians.items())]


def _misses(row: Measurement) -> bool:
    return not all(map(row.reached, row.bars))


def _where(recording: Recording) -> str:
    how = "Measured with `--quick` on" if recording.quick else "Measured on"
    return f"{how} {words.machine(recording.machine)}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

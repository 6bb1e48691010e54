"""Measurements in words, for the terminal and for the pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.benchmarks.measurement import Bar, Measurement, Spread

_SCALES: dict[str, list[tuple[float, str]]] = {
    "s": [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")],
    "flop": [(1e9, "Gflop"), (1e6, "Mflop"), (1.0, "flop")],
    "bytes": [(2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "bytes")],
}

VERDICTS = {True: "reached", False: "not reached", None: "within the spread"}


def number(value: float) -> str:
    """Three digits."""
    if value == 0 or value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.3g}"


def quantity(value: float, unit: str) -> str:
    """A number with its unit, in the size that suits it."""
    scales = _SCALES.get(unit, [(1.0, unit)])
    scale, name = next((each for each in scales if abs(value) >= each[0]), scales[-1])
    return f"{number(value / scale)} {name}" if name != "count" else number(value)


def ratio(spread: Spread, bar: Bar) -> str:
    """A ratio with its quartiles; with more digits where it would look as if it reached its bar."""
    digits = 2
    while digits < 7 and bar.reached(round(spread.median, digits)) > bar.reached(spread.median):
        digits += 1
    middle, *ends = (f"{each:.{digits}f}" for each in (spread.median, spread.low, spread.high))
    return middle if ends == [middle] * 2 else f"{middle} ({ends[0]} to {ends[1]})"


def found(row: Measurement, bar: Bar) -> str:
    """What was measured of that which a bar limits."""
    spread = row.ratio(bar)
    if bar.denominator:
        return ratio(spread, bar)
    middle, *ends = (quantity(each, row.unit) for each in (spread.median, spread.low, spread.high))
    return middle if ends == [middle] * 2 else f"{middle} ({ends[0]} to {ends[1]})"


def asked(row: Measurement, bar: Bar) -> str:
    """What a bar asks."""
    comparison = "≥" if bar.at_least else "≤"
    if not bar.denominator:
        return f"{bar.numerator} {comparison} {quantity(bar.limit, row.unit)}"
    factor = f"{bar.limit:.2f}" if bar.limit < 10 else number(bar.limit)
    return f"{bar.numerator} {comparison} {factor} × {bar.denominator}"


def verdict(row: Measurement, bar: Bar) -> str:
    """Whether it was reached."""
    return VERDICTS[row.reached(bar)]


def counted(rows: Sequence[Measurement]) -> str:
    """How many of the bars of some rows are reached."""
    verdicts = Counter(verdict(row, bar) for row in rows for bar in row.bars)
    return ", ".join(f"{verdicts[each]} {each}" for each in VERDICTS.values() if verdicts[each])


def machine(description: Mapping[str, str]) -> str:
    """The machine in one sentence."""
    versions = ", ".join(
        f"{name} {description[name]}" for name in ("Python", "jax", "flax", "optax", "numpy")
    )
    return (
        f"{description['processor']}, {description['cores']} cores, {description['memory']},"
        f" {description['system']}; device of jax: {description['device']}; {versions}."
    )

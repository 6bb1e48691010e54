"""The picture of a report: the error of the worst arrays at each step, on a log scale.

It is lines and texts, which are drawn into a page, as SVG or as PNG. Across, a place is a part of
the width, and down it is in pixels, so that a page can draw it as wide as its window is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.rows import Row, rows
from flaxoptim_compat.parity.renderings.wording import (
    headline,
    leaf_name,
    one_line,
    quantity_name,
    shortened,
)
from flaxoptim_compat.parity.tolerance import Series

CURVES = 200
POINTS = 400
HEIGHT = 350
# The same of a picture alone; a page has as much as its window.
WIDTH = 814
# For what a log scale has no place for: 0 below it, and what is not finite above.
_LANE = 24

AXES = {
    "error": "absolute error",
    "relative": "error / largest value in the array",
    "ulps": "error in units in the last place",
    "to_distance": "error / distance travelled",
}


class Style(NamedTuple):
    """How a kind of line is drawn, on white."""

    colour: str
    width: float
    dashes: tuple[int, ...] = ()


STYLES = {
    # Okabe and Ito's, which can be told apart with any kind of colour vision.
    "c0": Style("#0072b2", 2.25),
    "c1": Style("#d55e00", 1.5),
    "c2": Style("#009e73", 1.5),
    "c3": Style("#cc79a7", 1.5),
    "c4": Style("#56b4e9", 1.5),
    "c5": Style("#e69f00", 1.5),
    "part": Style("#6b7280", 1),
    "fine": Style("#b4bac4", 0.75),
    "allowed": Style("#1a1c20", 1.25, (5, 4)),
    "parting": Style("#a8480b", 1),
    "grid": Style("#eef0f3", 1),
    "lane": Style("#d9dce1", 1),
    "text": Style("#5c626d", 0),
}
_NAMED = 6


class Curve(NamedTuple):
    """The error of an array, or what is allowed for it, at each step or each part of the steps.

    Args:
      kind: how it is drawn.
      name: what it is called.
      row: which row of the table it belongs to; None for what is allowed.
      values: the largest error of each part, or the smallest that is allowed there.
    """

    kind: str
    name: str
    row: int | None
    values: Series


class Line(NamedTuple):
    """Points with a line through each run of them; one that is alone is a dot."""

    kind: str
    runs: Sequence[tuple[Sequence[float], Sequence[float]]]
    curve: Curve | None = None


class Text(NamedTuple):
    """A line of text, which begins, ends or has its middle some pixels from a place."""

    text: str
    across: float
    down: float
    pixels: float = 0
    anchor: str = "start"
    kind: str = "text"


@dataclasses.dataclass(frozen=True)
class Picture:
    """What there is to draw, from back to front.

    Args:
      lines: the axes and curves.
      texts: what stands at the axes.
      legend: the kinds of curves, and what they are.
    """

    lines: Sequence[Line]
    texts: Sequence[Text]
    legend: dict[str, str]


def curves(ranked: Sequence[Row], report: Findings, metric: str) -> list[Curve]:
    """The array in which the runs first part, what is allowed for it, and then the worst ones."""
    differing = [index for index, row in enumerate(ranked) if not row.identical]
    first = report.track_of(report.first_parting)
    order = sorted(differing, key=lambda index: ranked[index].track is not first)[:CURVES]
    starts = _thinned(report.steps)
    found = []
    for place, index in enumerate(order):
        row = ranked[index]
        name = f"{one_line(leaf_name(row.track.leaf))}, {one_line(quantity_name(row.track))}"
        kind = f"c{place}" if place < _NAMED else "part" if row.parts else "fine"
        error = np.maximum.reduceat(getattr(row.track, metric), starts)
        found.append(Curve(kind, name, index, error))
        if not place:
            # As the metric measures the error itself.
            passing = dataclasses.replace(row.track, error=row.track.allowed(report.tolerance))
            least = np.minimum.reduceat(getattr(passing, metric), starts)
            name = f"allowed for {shortened(one_line(leaf_name(row.track.leaf)), 30)}"
            found.append(Curve("allowed", name, None, least))
    return found


def picture(found: Sequence[Curve], report: Findings, metric: str) -> Picture:
    """The curves between their axes."""
    values = np.concatenate([np.ones(0), *(curve.values for curve in found)])
    strange = not np.isfinite(values).all()
    top, bottom = _LANE if strange else 0, HEIGHT - _LANE
    positive = values[np.isfinite(values) & (values > 0)]
    low, high = -1, 0
    if positive.size:
        low = math.floor(np.log10(positive.min()))
        high = max(math.ceil(np.log10(positive.max())), low + 1)
    per_power = (bottom - top) / (high - low)
    starts = _thinned(report.steps)
    ends = np.append(starts[1:] - 1, report.steps)
    across = (starts + ends) / 2 / max(report.steps, 1)

    def runs(series: Series) -> Iterator[tuple[Sequence[float], Sequence[float]]]:
        lanes = np.where(np.isfinite(series), series > 0, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            down = bottom - (np.log10(series) - low) * per_power
        down = np.select([lanes == -1, lanes == 0], [0.0, HEIGHT], down)
        # No line runs from a number to zero.
        for points in np.split(np.arange(len(series)), np.flatnonzero(np.diff(lanes)) + 1):
            yield across[points].tolist(), down[points].tolist()

    lanes = [(HEIGHT, "0")] + ([(0, "NaN, ∞")] if strange else [])
    every = math.ceil((high - low) / max((bottom - top) // 34, 1))
    powers = [(bottom - (e - low) * per_power, _power(e)) for e in range(low, high + 1, every)]
    lines = [Line("grid", [((0, 1), (down, down))]) for down, _ in powers]
    lines += [Line("lane", [((0, 1), (down, down))]) for down, _ in lanes]
    texts = [Text(name, 0, down + 4, -8, "end") for down, name in [*powers, *lanes]]
    texts += _steps(report.steps)
    texts += [Text("steps done", 0.5, HEIGHT + 38, 0, "middle"), Text(AXES[metric], 0, -14, -58)]
    if report.first_parting is not None:
        step = report.first_parting.step
        at = step / max(report.steps, 1)
        pixels, anchor = (-6, "end") if at > 0.5 else (6, "start")
        name = f"first parting: {step}"
        lines.append(Line("parting", [((at, at), (-8, HEIGHT))]))
        texts.append(Text(name, at, HEIGHT - _LANE / 2 + 4, pixels, anchor, "parting"))
    ranks = {"part": 1, "fine": 2}
    front_to_back = sorted(found, key=lambda curve: ranks.get(curve.kind, 0))
    lines += [Line(each.kind, list(runs(each.values)), each) for each in reversed(front_to_back)]
    legend = {curve.kind: curve.name for curve in found}
    for kind, name in (("part", "others that part"), ("fine", "others within the tolerance")):
        if kind in legend:
            legend[kind] = name
    return Picture(lines, texts, legend)


def poster(report: Findings) -> tuple[Picture, tuple[int, int, int, int]]:
    """The picture alone, with its title and legend, and the room that it takes around its axes.

    That is left, top, width and height in pixels, from the upper left corner of the axes.
    """
    found = curves(rows(report), report, "to_distance")
    drawn = picture(found, report, "to_distance")
    sides = " beside ".join(shortened(one_line(name), 48) for name in report.names)
    titles = [
        Text(shortened(headline(report), 90), 0.5, -66, 0, "middle"),
        Text(sides, 0.5, -46, 0, "middle"),
    ]
    if not found:
        titles.append(Text("no difference", 0.5, HEIGHT / 2, 0, "middle"))
    samples, names = [], []
    for place, (kind, name) in enumerate(drawn.legend.items()):
        left, down = place % 2 / 2, HEIGHT + 66 + place // 2 * 20
        samples.append(Line(kind, [((left, left + 0.03), (down, down))]))
        names.append(Text(shortened(name, 56), left + 0.03, down + 4, 8))
    whole = Picture([*drawn.lines, *samples], [*titles, *drawn.texts, *names], drawn.legend)
    height = 90 + HEIGHT + 66 + 20 * math.ceil(len(drawn.legend) / 2)
    return whole, (-62, -90, 62 + WIDTH + 24, height)


def _thinned(steps: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The first step of each part, where steps are divided into no more parts than points."""
    count = min(steps + 1, POINTS)
    return np.arange(count, dtype=np.int64) * (steps + 1) // count


def _steps(steps: int) -> list[Text]:
    """Round numbers of steps, no more than have room on a narrow page."""
    unit = 10 ** math.floor(math.log10(max(steps / 6, 1)))
    stride = next(each * unit for each in (1, 2, 5, 10) if steps / (each * unit) <= 6)
    return [
        Text(f"{step:,}", step / max(steps, 1), HEIGHT + 20, 0, "middle")
        for step in range(0, steps + 1, stride)
    ]


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))

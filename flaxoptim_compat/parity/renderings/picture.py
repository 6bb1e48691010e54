"""The picture of a report: the error of the worst arrays at each step, which matplotlib draws."""

from __future__ import annotations

import dataclasses
import io
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.rows import ArrayRow, rows
from flaxoptim_compat.parity.renderings.wording import (
    headline,
    leaf_name,
    quantity_name,
)
from flaxoptim_compat.parity.tolerance import Series
from flaxoptim_compat.printable import one_line, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES = 200
POINTS = 400
AXES = {
    "error": "absolute error",
    "relative": "error / largest value in the array",
    "ulps": "error in units in the last place",
    "to_distance": "error / distance travelled",
}
_TEXT, _GRID, _LANE, _PARTING = "#5c626d", "#eef0f3", "#d9dce1", "#a8480b"
# How each kind of curve is drawn. The colours of the named ones are Okabe and Ito's, which can be
# told apart with any kind of colour vision.
_STYLES: dict[str, dict[str, Any]] = {
    "c0": {"color": "#0072b2", "linewidth": 1.7},
    "c1": {"color": "#d55e00", "linewidth": 1.1},
    "c2": {"color": "#009e73", "linewidth": 1.1},
    "c3": {"color": "#cc79a7", "linewidth": 1.1},
    "c4": {"color": "#56b4e9", "linewidth": 1.1},
    "c5": {"color": "#e69f00", "linewidth": 1.1},
    "allowed": {"color": "#1a1c20", "linewidth": 0.9, "dashes": (4, 3)},
    "part": {"color": "#6b7280", "linewidth": 0.75},
    "fine": {"color": "#b4bac4", "linewidth": 0.55},
}
_OTHERS = {"part": "others that part", "fine": "others within the tolerance"}
_NAMED = 6
_LONGEST = 56
_SETTINGS: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "figure.titlesize": 9,
    # Text stays text, and the same report is the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "flaxoptim_compat",
    "figure.constrained_layout.h_pad": 0.1,
    "figure.constrained_layout.w_pad": 0.1,
}


class Curve(NamedTuple):
    """The error of an array, or the allowed error, at each step or each part of the steps.

    Args:
      kind: the key of its style.
      name: its name in the legend.
      row: the row of the array in the table; None for the allowed error.
      values: the largest error of each part, or the smallest that is allowed there.
      steps: the middle of each part.
    """

    kind: str
    name: str
    row: int | None
    values: Series
    steps: Series


def require_matplotlib() -> None:
    """Raise unless matplotlib is installed.

    Raises:
      ParityError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ParityError(
            "Pictures need matplotlib, which is not installed: pip install"
            " 'flaxoptim_compat[plot]'. JSON, text and pages without curves need nothing."
        ) from error


def curves(ranked: Sequence[ArrayRow], report: Findings, metric: str) -> list[Curve]:
    """The curves of the array that parts first, of its allowed error, and of the worst arrays."""
    differing = [index for index, row in enumerate(ranked) if not row.identical]
    first = report.track_of(report.first_parting)
    order = sorted(differing, key=lambda index: ranked[index].track is not first)[:CURVES]
    drawn = []
    for place, index in enumerate(order):
        row = ranked[index]
        name = f"{one_line(leaf_name(row.track.leaf))}, {one_line(quantity_name(row.track))}"
        kind = f"c{place}" if place < _NAMED else "part" if row.parts else "fine"
        starts, steps = _thinned(row.track.steps)
        error = np.maximum.reduceat(getattr(row.track, metric), starts)
        drawn.append(Curve(kind, name, index, error, steps))
        if not place:
            # The allowed error, in the measure of the error itself.
            passing = dataclasses.replace(row.track, error=row.track.allowed(report.tolerance))
            least = np.minimum.reduceat(getattr(passing, metric), starts)
            name = f"allowed for {shortened(one_line(leaf_name(row.track.leaf)), 30)}"
            drawn.append(Curve("allowed", name, None, least, steps))
    return drawn


def figure(drawn: Sequence[Curve], report: Findings, metric: str) -> Figure:
    """The curves between their axes, and the legend below them.

    In an SVG the group of a curve is called ``curve-KIND-ROW``, of its kind in the legend
    ``sample-KIND``.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    names = {curve.kind: _OTHERS.get(curve.kind, curve.name) for curve in drawn}
    whole = Figure(figsize=(9, 4.3 + 0.22 * math.ceil(len(names) / 2)), layout="constrained")
    axes = whole.add_subplot(frame_on=False)
    axes.set_title(AXES[metric], loc="left", color=_TEXT)
    axes.set_xlabel("steps done", color=_TEXT)
    axes.tick_params(length=0, pad=6, colors=_TEXT)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    values = np.concatenate([np.ones(0), *(curve.values for curve in drawn)])
    positive = values[np.isfinite(values) & (values > 0)]
    low, high = -1, 0
    if positive.size:
        low = math.floor(np.log10(positive.min()))
        high = max(math.ceil(np.log10(positive.max())), low + 1)
    # A log scale has no place for 0, nor for what is not finite: these have a line each.
    gap = 0.07 * (high - low)
    lanes = {"0": low - gap} | ({} if np.isfinite(values).all() else {"NaN, ∞": high + gap})
    powers = {_power(e): e for e in range(low, high + 1, math.ceil((high - low) / 10))}
    axes.set_yticks([*powers.values(), *lanes.values()], [*powers, *lanes])
    for heights, colour, gid in ((powers, _GRID, "grid"), (lanes, _LANE, "lane")):
        ends = 0, max(report.steps, 1)
        style: dict[str, Any] = {"linewidth": 0.8, "zorder": 0, "clip_on": False, "gid": gid}
        axes.hlines([*heights.values()], *ends, colour, **style)
    axes.set(xlim=(0, max(report.steps, 1)), ylim=(low - gap, max([high, *lanes.values()])))
    if report.first_parting is not None:
        step = report.first_parting.step
        left = step > report.steps / 2
        axes.axvline(step, color=_PARTING, linewidth=0.8, zorder=1, clip_on=False, gid="parting")
        axes.annotate(
            f"first parting: {step}",
            (step, low - gap / 2),
            (-5 if left else 5, 0),
            textcoords="offset points",
            horizontalalignment="right" if left else "left",
            verticalalignment="center",
            color=_PARTING,
            gid="parting",
        )
    for place, curve in enumerate(drawn):
        across, up = _points(curve, low - gap, high + gap)
        gone = np.isnan([np.nan, *up, np.nan])
        axes.plot(
            across,
            up,
            marker=".",
            markersize=4,
            # A point between others on another line has no line through it.
            markevery=np.flatnonzero(~gone[1:-1] & gone[:-2] & gone[2:]).tolist(),
            clip_on=False,
            zorder=3 - place / len(drawn),
            gid=f"curve-{curve.kind}-{'' if curve.row is None else curve.row}",
            **_STYLES[curve.kind],
        )
    legend = whole.legend(
        [Line2D([], [], **_STYLES[kind]) for kind in names],
        ["name"] * len(names),
        loc="outside lower left",
        ncols=2,
        frameon=False,
        labelcolor=_TEXT,
    )
    samples = zip(legend.get_lines(), legend.get_texts(), names.items(), strict=True)
    for line, text, (kind, name) in samples:
        line.set_gid(f"sample-{kind}")
        # A dollar sign in a name does not start mathematics, nor does "_" hide it.
        text.set(text=shortened(name, _LONGEST), parse_math=False)
    return whole


def written(form: str, make: Callable[[], Figure], background: str = "white") -> bytes:
    """A figure as the bytes of a file, by default settings; those of the user stay as they are.

    Raises:
      ParityError: matplotlib is not installed.
    """
    require_matplotlib()
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # The font has not every script in the world, and shows a box instead.
        warnings.filterwarnings("ignore", "Glyph ", UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"] if form == "svg" else [])
        make().savefig(buffer, format=form, dpi=150, facecolor=background, metadata=nothing)
    return buffer.getvalue()


def _poster(report: Findings) -> Figure:
    """The picture alone, with its title."""
    drawn = curves(rows(report), report, "to_distance")
    whole = figure(drawn, report, "to_distance")
    sides = " beside ".join(shortened(one_line(name), 48) for name in report.names)
    title = f"{shortened(headline(report), 90)}\n{sides}"
    whole.suptitle(title, color=_TEXT, parse_math=False)
    if not drawn:
        whole.text(0.5, 0.5, "no difference", color=_TEXT, horizontalalignment="center")
    return whole


def to_png(report: Findings) -> bytes:
    """The picture as a PNG file."""
    return written("png", lambda: _poster(report))


def to_svg(report: Findings) -> bytes:
    """The picture as an SVG file."""
    return written("svg", lambda: _poster(report))


def _points(curve: Curve, zero: float, strange: float) -> tuple[Series, Series]:
    """The points of a curve; NaN where no line runs, as from a number to zero."""
    values = curve.values
    lanes = np.where(np.isfinite(values), values > 0, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.select([lanes == -1, lanes == 0], [strange, zero], np.log10(values))
    breaks = np.flatnonzero(np.diff(lanes)) + 1
    return np.insert(curve.steps, breaks, np.nan), np.insert(up, breaks, np.nan)


def _thinned(steps: Series) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Series]:
    """The first entry of each part, and its middle, in no more parts than points."""
    count = min(len(steps), POINTS)
    starts = np.arange(count, dtype=np.int64) * len(steps) // count
    return starts, (steps[starts] + steps[np.append(starts[1:], len(steps)) - 1]) / 2


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))

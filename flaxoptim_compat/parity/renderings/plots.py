"""A report as a picture: the error of the worst arrays at each step, on a log scale."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import Findings, Series
from flaxoptim_compat.parity.renderings.rows import Row, allowed, index_of, measured, rows, thinned
from flaxoptim_compat.parity.renderings.wording import (
    headline,
    leaf_name,
    one_line,
    quantity_name,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LINES = 6
_OTHERS = 100
_POINTS = 1200
# Okabe and Ito's, which can be told apart with any kind of colour vision.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


def require_matplotlib() -> None:
    """See that there is something to plot with.

    Raises:
      ParityError: no matplotlib.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ParityError(
            "A plot needs matplotlib, which is not installed:"
            " pip install 'flaxoptim_compat[plot]'. HTML, JSON and text need nothing."
        ) from error


def save_plot(report: Findings, file: str | BinaryIO, kind: str = "png") -> None:
    """Draw the report into a file.

    Args:
      report: what to draw.
      file: a path, or a file that is open for writing.
      kind: ``png`` or ``svg``.

    Raises:
      ParityError: no matplotlib.
    """
    require_matplotlib()
    figure = _figure(report)
    with warnings.catch_warnings():
        # The font has not every script in the world, and shows a box instead.
        warnings.filterwarnings("ignore", "Glyph ", UserWarning)
        figure.savefig(file, format=kind, dpi=150)


def _figure(report: Findings) -> Figure:
    from matplotlib.figure import Figure

    shown = _shown(report)
    starts = thinned(report.steps, _POINTS)
    errors = [np.maximum.reduceat(row.track.to_distance, starts) for row in shown]
    passing = [np.minimum.reduceat(_allowed(row, report), starts) for row in shown[:1]]
    strange = not all(np.isfinite(series).all() for series in (*errors, *passing))
    lanes = _Lanes(Figure(figsize=(9, 5.6), layout="constrained"), starts, strange)
    for order, (row, error, colour) in enumerate(zip(shown, errors, _COLOURS, strict=False)):
        lanes.line(error, _label(row), color=colour, linewidth=1.2, zorder=4 - order / _LINES)
    for error in errors[_LINES:]:
        lanes.line(error, "other arrays", color="#a9afb9", linewidth=0.6, zorder=2)
    for row, series in zip(shown, passing, strict=False):
        name = f"allowed for {_short(leaf_name(row.track.leaf), 30)}"
        lanes.line(series, name, color="black", linewidth=1.2, linestyle=(0, (4, 3)), zorder=5)
    if report.first_parting is not None:
        lanes.mark(report.first_parting.step, report.steps)
    lanes.decorate(report)
    return lanes.figure


def _shown(report: Findings) -> list[Row]:
    """The array in which the runs first part, and then the worst ones."""
    ranked = [row for row in rows(report) if not row.identical]
    first = index_of(report.first_parting, ranked)
    if first is not None:
        ranked.insert(0, ranked.pop(first))
    return ranked[:_OTHERS]


def _allowed(row: Row, report: Findings) -> Series:
    return measured(allowed(row.track, report), "to_distance", row.track)


def _label(row: Row) -> str:
    return f"{_short(leaf_name(row.track.leaf), 36)}, {_short(quantity_name(row.track), 18)}"


def _short(name: str, width: int) -> str:
    return shortened(one_line(name), width)


class _Lanes:
    """Axes with a log scale above a lane for zero, and below one for what is not finite."""

    def __init__(self, figure: Figure, steps: Any, strange: bool) -> None:
        self.figure = figure
        self._steps = steps
        self._named: dict[str, Line2D] = {}
        heights = (1, 16, 1) if strange else (16, 1)
        self._all = list(
            figure.subplots(len(heights), 1, sharex=True, gridspec_kw={"height_ratios": heights})
        )
        self._strange = self._all[0] if strange else None
        self._main, self._zero = self._all[-2:]
        self._main.set_yscale("log")
        self._main.set_autoscaley_on(False)
        self._low, self._high = np.inf, 0.0

    def line(self, series: Series, name: str, **style: Any) -> None:
        """Draw a series, each value in its lane."""
        positive = np.where(np.isfinite(series) & (series > 0), series, np.nan)
        self._low = float(np.fmin.reduce(positive, initial=self._low))
        self._high = float(np.fmax.reduce(positive, initial=self._high))
        self._named.setdefault(name, self._part(self._main, positive, style))
        self._part(self._zero, np.where(series == 0, 0.0, np.nan), style)
        if self._strange is not None:
            self._part(self._strange, np.where(np.isfinite(series), np.nan, 0.0), style)

    def _part(self, axes: Axes, values: Series, style: dict[str, Any]) -> Line2D:
        # A line needs two points; one alone is drawn as a dot.
        known = np.pad(np.isfinite(values), 1)
        alone = known[1:-1] & ~known[:-2] & ~known[2:]
        colour, order = style["color"], style["zorder"]
        axes.plot(self._steps[alone], values[alone], ".", color=colour, markersize=4, zorder=order)
        return axes.plot(self._steps, values, **style)[0]

    def mark(self, step: int, steps: int) -> None:
        """Mark where the runs first part."""
        for axes in self._all:
            axes.axvline(step, color="#a8480b", linewidth=0.9, zorder=1)
        left = step > steps / 2
        self._all[0].annotate(
            f"first parting: {step}",
            (step, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-5 if left else 5, 0),
            textcoords="offset points",
            horizontalalignment="right" if left else "left",
            verticalalignment="bottom",
            color="#a8480b",
            fontsize="small",
        )

    def decorate(self, report: Findings) -> None:
        """The title, the names of axes and lanes, and the legend."""
        sides = " beside ".join(_short(name, 48) for name in report.names)
        title = f"{_short(headline(report), 90)}\n{sides}"
        # A dollar sign in a name does not start mathematics.
        self.figure.suptitle(title, fontsize="medium", parse_math=False)
        for axes in self._all:
            axes.spines[["top", "right", "bottom"]].set_visible(False)
            axes.grid(axis="y", color="#e3e6ea", linewidth=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(bottom=axes is self._zero, labelsize="small")
        for axes, name in ((self._zero, "0"), (self._strange, "NaN, ∞")):
            if axes is not None:
                axes.set_ylim(-1, 1)
                axes.set_yticks([0], [name])
        self._main.set_ylabel("error / distance travelled", fontsize="small")
        self._zero.set_xlabel("steps done", fontsize="small")
        self._zero.set_xlim(0, max(report.steps, 1))
        self._zero.xaxis.get_major_locator().set_params(integer=True)
        if self._high:
            # Whole powers of ten, but not the last ones: ticks would overflow beyond them.
            ends = np.floor(np.log10(self._low)), np.ceil(np.log10(self._high))
            low, high = np.clip(ends, -200, 200)
            self._main.set_ylim(10.0**low, 10.0 ** max(high, low + 1))
        self._legend()

    def _legend(self) -> None:
        if not self._named:
            self._main.set_yticks([])
            self._main.set_yticks([], minor=True)
            self._main.text(0.5, 0.5, "no difference", transform=self._main.transAxes, ha="center")
            return
        legend = self.figure.legend(
            list(self._named.values()),
            # Names that start with an underscore would be left out.
            ["-"] * len(self._named),
            loc="outside lower center",
            ncols=2,
            frameon=False,
            fontsize="small",
        )
        for text, name in zip(legend.get_texts(), self._named, strict=True):
            text.set_parse_math(False)
            text.set_text(name)

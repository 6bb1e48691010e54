"""A comparison as a picture."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from flaxoptim_compat.parity import ParityError
from flaxoptim_compat.parity.renderings.plots import save_plot
from flaxoptim_compat.parity.report import Report
from tests.support import parity_reports
from tests.support.parity_reports import report, track
from tests.support.places import ROOT
from tests.support.processes import output_of


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that draws a report and returns the figure, for what is in it."""
    figures: list[Figure] = []
    save = Figure.savefig

    def saved(figure: Figure, *args: Any, **kwargs: Any) -> None:
        figures.append(figure)
        save(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", saved)

    def draw(found: Report) -> Figure:
        save_plot(found, io.BytesIO(), "svg")
        return figures.pop()

    return draw


def curves(axes: Any) -> list[Any]:
    """The lines with more than one point, which are as long as the run."""
    return [line for line in axes.lines if len(line.get_xdata()) > 2]


def named(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_a_png_with_the_colours_of_the_curves() -> None:
    file = io.BytesIO()
    save_plot(parity_reports.small(), file)
    file.seek(0)
    image = np.round(imread(file, format="png")[..., :3] * 255).astype(int)
    assert image.shape == (840, 1350, 3)
    colours = {tuple(colour) for colour in image.reshape(-1, 3).tolist()}
    for colour in ["#ffffff", "#0072b2", "#d55e00", "#009e73", "#a8480b"]:
        assert tuple(bytes.fromhex(colour[1:])) in colours, colour


def test_an_svg(tmp_path: Path) -> None:
    path = tmp_path / "report.svg"
    save_plot(parity_reports.hostile(), str(path), "svg")
    assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_the_curves_are_the_errors_and_what_is_allowed(drawn: Any) -> None:
    found = parity_reports.small()
    main, zero = drawn(found).axes
    kernel, moment, bias = found.tracks[0], found.tracks[2], found.tracks[1]
    errors = [each.to_distance for each in (kernel, bias, moment)]
    passing = found.tolerance.allowed(kernel.distance, kernel.largest, kernel.dtype)
    errors.append(np.append(0, passing[1:] / kernel.distance[1:]))
    for line, below, error in zip(curves(main), curves(zero), errors, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), np.where(error > 0, error, np.nan))
        np.testing.assert_array_equal(below.get_ydata(), np.where(error == 0, 0.0, np.nan))
    assert main.get_yscale() == "log"
    [parting] = [text for text in main.texts if text.get_text().startswith("first parting")]
    assert parting.get_text() == "first parting: 6"


def test_the_legend_names_the_worst(drawn: Any) -> None:
    assert named(drawn(parity_reports.small())) == [
        "dense/kernel, parameter",
        "dense/bias, parameter",
        "dense/kernel, grad_sq_ema / nu",
        "allowed for dense/kernel",
    ]
    many = report(
        *(track(f"_leaf{i}", 1e-9 * (i + 1)) for i in range(9)), track("first", {1: 1e-3})
    )
    assert named(drawn(many)) == [
        "first, parameter",
        *(f"_leaf{i}, parameter" for i in range(8, 3, -1)),
        "other arrays",
        "allowed for first",
    ]


def test_what_is_not_finite_has_a_lane_of_its_own(drawn: Any) -> None:
    strange, main, zero = drawn(parity_reports.with_nan()).axes
    kernel = curves(strange)[0].get_ydata()
    assert np.flatnonzero(kernel == 0).tolist() == list(range(700, 1001))
    assert np.isnan(curves(main)[0].get_ydata()).all()
    assert np.flatnonzero(curves(zero)[0].get_ydata() == 0).tolist() == list(range(700))
    assert len(drawn(parity_reports.small()).axes) == 2


def test_a_long_run_is_thinned_to_its_largest_errors(drawn: Any) -> None:
    found = report(track("w", {77_777: 0.5}, steps=100_000), steps=100_000)
    main, _ = drawn(found).axes
    [dot] = [line for line in main.lines if len(line.get_xdata()) == 1]
    assert dot.get_ydata().tolist() == [0.5 / 777.77]
    assert [len(line.get_xdata()) for line in curves(main)] == [1200, 1200]


@pytest.mark.parametrize("name", ["identical", "bare"])
def test_without_any_difference(drawn: Any, name: str) -> None:
    figure = drawn(getattr(parity_reports, name)())
    assert [text.get_text() for text in figure.axes[0].texts] == ["no difference"]
    assert figure.legends == []


def test_a_dollar_sign_is_no_mathematics(drawn: Any) -> None:
    figure = drawn(report(track("$\\frac$", 1e-3), names=("a$_b$", "$")))
    assert named(figure)[0] == "$\\frac$, parameter"
    assert "a$_b$ beside $" in figure.get_suptitle()


def test_it_leaves_matplotlib_as_it_is(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    save_plot(parity_reports.small(), io.BytesIO())
    assert dict(matplotlib.rcParams) == before
    program = (
        "import sys\n"
        "from tests.support import parity_reports\n"
        "found = parity_reports.small()\n"
        "str(found), found.to_html(), found.to_json()\n"
        "assert not any(name.startswith('matplotlib') for name in sys.modules)\n"
        f"found.save({str(tmp_path / 'report.png')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    output_of(["-c", program], ROOT)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParityError, match=r"pip install 'flaxoptim_compat\[plot\]'"):
        parity_reports.small().save(tmp_path / "report.png")
    assert list(tmp_path.iterdir()) == []

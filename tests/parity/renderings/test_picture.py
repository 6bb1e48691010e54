"""A comparison as a picture."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

from flaxoptim_compat.parity import ParityError
from flaxoptim_compat.parity.renderings.picture import Curve, curves, figure, to_png, to_svg
from flaxoptim_compat.parity.renderings.rows import rows
from flaxoptim_compat.parity.report import Report
from tests.support import parity_reports
from tests.support.parity_reports import report, track
from tests.support.places import ROOT
from tests.support.processes import output_of

SVG = "{http://www.w3.org/2000/svg}"


def of(found: Report, metric: str = "to_distance") -> list[Curve]:
    return curves(rows(found), found, metric)


def values(found: Report, metric: str) -> list[list[float]]:
    return [curve.values.tolist() for curve in of(found, metric)]


def lines(found: Report) -> dict[str, list[list[tuple[float, float]]]]:
    """The runs of points without a gap, of each curve, by its kind."""
    runs = {}
    for line in figure(of(found), found, "to_distance").axes[0].lines:
        _, _, kind = str(line.get_gid()).rpartition("curve-")
        points = np.asarray(line.get_xydata())
        parts = np.split(points, np.flatnonzero(np.isnan(points[:, 0])))
        whole = [[(x, y) for x, y in part.tolist() if x == x] for part in parts]
        runs[kind.partition("-")[0]] = [run for run in whole if run]
    return runs


def heights(found: Report) -> dict[str, float]:
    """Where the labels of the vertical axis are."""
    axis = figure(of(found), found, "to_distance").axes[0].yaxis
    names = [label.get_text() for label in axis.get_ticklabels()]
    return dict(zip(names, axis.get_ticklocs(), strict=True))


def texts(found: Report) -> list[str]:
    root = ElementTree.fromstring(to_svg(found))
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def legend(found: Report) -> list[str]:
    drawn = figure(of(found), found, "to_distance").legends[0]
    return [text.get_text() for text in drawn.get_texts()]


def test_the_curves_are_the_errors_and_what_is_allowed() -> None:
    found = parity_reports.small()
    kernel, bias, moment = found.tracks
    passing = found.tolerance.allowed(kernel.distance, kernel.largest, kernel.dtype)
    expected = [kernel.to_distance, np.append(0, passing[1:] / kernel.distance[1:])]
    expected += [bias.to_distance, moment.to_distance]
    for curve, series in zip(of(found), expected, strict=True):
        np.testing.assert_array_equal(curve.values, series)
    assert "first parting: 6" in texts(found)


def test_each_metric_is_exact_where_there_are_few_steps() -> None:
    found = report(track("w", {2: 0.25, 3: 0.5}, steps=3), steps=3)
    error, passing = values(found, "error")
    assert error == [0, 0, 0.25, 0.5]
    assert passing == [0, *(8 * t**0.5 * 2**-23 for t in (1, 2, 3))]
    assert values(found, "relative")[0] == error
    ulps, passing = values(found, "ulps")
    assert ulps == [0, 0, 2.0**21, 2.0**22]
    assert passing == pytest.approx([0, 8, 8 * 2**0.5, 8 * 3**0.5])
    assert values(found, "to_distance")[0] == pytest.approx([0, 0, 12.5, 0.5 / 0.03])


def test_points_are_where_the_log_scale_has_them() -> None:
    found = report(track("w", {1: 1e-3, 2: 1e-5, 4: 1e-2}, distance=[1.0] * 5, steps=4), steps=4)
    start, line, zero, last = lines(found)["c0"]
    at = heights(found)
    assert start == [(0, at["0"])] and zero == [(3, at["0"])] and last == [(4, at["10⁻²"])]
    (x1, y1), (x2, y2) = line
    assert (x1, x2) == (1, 2) and (y1, y2) == pytest.approx((at["10⁻³"], at["10⁻⁵"]))
    # From the smallest that is allowed, 5e-6, to the largest error.
    assert list(at) == [*(f"10⁻{power}" for power in "⁶⁵⁴³²"), "0"]


def test_the_legend_names_the_worst() -> None:
    assert legend(parity_reports.small()) == [
        "dense/kernel, parameter",
        "allowed for dense/kernel",
        "dense/bias, parameter",
        "dense/kernel, grad_sq_ema / nu",
    ]
    within = (track(f"_leaf{i}", 1e-9 * (i + 1)) for i in range(9))
    parting = (track(f"worse{i}", 1e-2, start=2) for i in range(2))
    found = report(*within, *parting, track("first", {1: 1e-3}))
    assert legend(found) == [
        *("first, parameter", "allowed for first"),
        *(f"worse{i}, parameter" for i in range(2)),
        *(f"_leaf{i}, parameter" for i in range(8, 5, -1)),
        "others within the tolerance",
    ]
    many = report(*(track(f"leaf{i}", 1e-2) for i in range(7)))
    assert legend(many)[-1] == texts(many)[-1] == "others that part"


def test_the_worst_are_in_front_of_the_others() -> None:
    tracks = [track(f"a{i}", 1e-2 / (i + 1)) for i in range(8)] + [track("b", 1e-9)]
    root = ElementTree.fromstring(to_svg(report(*tracks)))
    gids = [group.get("id", "") for group in root.iter(f"{SVG}g")]
    kinds = [gid.split("-")[1] for gid in gids if gid.startswith("curve-")]
    assert kinds == ["fine", "part", "part", "c5", "c4", "c3", "c2", "c1", "allowed", "c0"]


def test_what_is_not_finite_has_a_lane_of_its_own() -> None:
    found = parity_reports.with_nan()
    at = heights(found)
    zero, strange = lines(found)["c0"]
    # Of 400 parts of 1001 steps.
    assert (zero[0][0], strange[0][0]) == (0.5, pytest.approx(700, abs=2))
    assert {y for _, y in zero} == {at["0"]} and {y for _, y in strange} == {at["NaN, ∞"]}
    assert len(zero) + len(strange) == 400
    assert "NaN, ∞" not in heights(parity_reports.small())


def test_what_there_is_nothing_to_measure_by_is_in_that_lane() -> None:
    held = report(track(error=0.5, distance=[0.0] * 21))
    for series in values(held, "to_distance"):
        assert series == [0] + [float("inf")] * 20
    assert values(held, "error")[0] == [0] + [0.5] * 20


def test_a_number_between_others_in_lanes_is_a_dot() -> None:
    found = report(track(error={3: float("nan"), 4: float("inf"), 5: 0.5}, steps=5), steps=5)
    assert [len(run) for run in lines(found)["c0"]] == [3, 2, 1]
    root = ElementTree.fromstring(to_svg(found))
    (curve,) = (group for group in root.iter(f"{SVG}g") if group.get("id") == "curve-c0-0")
    assert len(list(curve.iter(f"{SVG}use"))) == 1


def test_thinned_curves_keep_the_largest_errors() -> None:
    steps = 100_000
    spikes = {0: 1e-9, 77_777: 0.5, steps: 0.25}
    found = report(track("w", spikes, steps=steps), steps=steps)
    error, _ = values(found, "error")
    starts = np.arange(400) * (steps + 1) // 400
    expected = np.zeros(400)
    for step, spike in spikes.items():
        expected[np.searchsorted(starts, step, "right") - 1] = spike
    assert error == expected.tolist()
    # The least that is allowed in a part of the steps is that of its first one.
    _, passing = values(found, "ulps")
    assert passing[1:3] == pytest.approx(
        [max(8 * s**0.5, 5e-6 * 0.01 * s * 2**23) for s in starts[1:3].tolist()]
    )


def test_the_first_parting_has_a_curve_even_if_it_is_not_the_worst() -> None:
    worse = [track(f"leaf{i}", 1.0, start=3) for i in range(250)]
    found = of(report(*worse, track("least", 1e-3, start=2)))
    assert len(found) == 200 + 1
    assert (found[0].name, found[0].row) == ("least, parameter", 250)


@pytest.mark.parametrize("steps", [0, 1, 7, 20, 999, 1000, 123_456])
def test_steps_at_the_axis_are_round_and_few(steps: int) -> None:
    found = report(track(error={0: 0.5}, steps=steps), steps=steps)
    whole = figure(of(found), found, "to_distance")
    whole.draw_without_rendering()
    labels = whole.axes[0].xaxis.get_ticklabels()
    named = [int(label.get_text().replace(",", "")) for label in labels]
    assert whole.axes[0].get_xticks().tolist() == named
    shown = [step for step in named if step <= max(steps, 1)]
    assert shown[0] == 0 and min(steps + 1, 3) <= len(shown) <= 7


@pytest.mark.parametrize("name", ["identical", "bare"])
def test_without_any_difference(name: str) -> None:
    found = getattr(parity_reports, name)()
    assert of(found) == [] and "no difference" in texts(found)
    assert legend(found) == []


def test_a_png_with_the_colours_of_the_curves() -> None:
    image = np.round(imread(io.BytesIO(to_png(parity_reports.small())), format="png") * 255)
    assert image.shape == (711, 1350, 4)
    colours = {tuple(colour) for colour in image.reshape(-1, 4)[:, :3].astype(int).tolist()}
    for colour in ["#ffffff", "#0072b2", "#d55e00", "#009e73", "#a8480b"]:
        assert tuple(bytes.fromhex(colour[1:])) in colours, colour


def test_an_svg() -> None:
    once, again = (to_svg(parity_reports.hostile()) for _ in range(2))
    assert once == again
    root = ElementTree.fromstring(once)
    assert root.tag == f"{SVG}svg"
    assert not [each for each in root.iter() if each.tag.endswith("script")]


def test_a_dollar_sign_is_no_mathematics() -> None:
    found = report(track("$\\frac$", 1e-3), names=("a$_b$", "$"))
    assert legend(found)[0] == "$\\frac$, parameter"
    assert "a$_b$ beside $" in texts(found)
    # It would be an error of matplotlib's.
    to_png(found)


def test_it_leaves_matplotlib_as_it_is(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    to_png(parity_reports.small())
    assert dict(matplotlib.rcParams) == before
    program = (
        "import sys\n"
        "from tests.support import parity_reports\n"
        "found = parity_reports.small()\n"
        "str(found), found.to_json()\n"
        "assert not any(name.startswith('matplotlib') for name in sys.modules)\n"
        f"found.save({str(tmp_path / 'report.png')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    output_of(["-c", program], ROOT)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_without_matplotlib(suffix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParityError, match=r"pip install 'flaxoptim_compat\[plot\]'"):
        parity_reports.small().save(tmp_path / f"report.{suffix}")
    assert list(tmp_path.iterdir()) == []

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
from flaxoptim_compat.parity.renderings.picture import Curve, Line, Picture, curves, poster
from flaxoptim_compat.parity.renderings.png import to_png
from flaxoptim_compat.parity.renderings.rows import rows
from flaxoptim_compat.parity.renderings.svg import to_svg
from flaxoptim_compat.parity.report import Report
from tests.support import parity_reports
from tests.support.parity_reports import report, track
from tests.support.places import ROOT
from tests.support.processes import output_of

HEIGHT = 350


def of(found: Report, metric: str = "to_distance") -> list[Curve]:
    return curves(rows(found), found, metric)


def values(found: Report, metric: str) -> list[list[float]]:
    return [curve.values.tolist() for curve in of(found, metric)]


def drawn(found: Report) -> Picture:
    return poster(found)[0]


def lines(found: Report) -> dict[str, Line]:
    """The curves in the picture by their kinds."""
    return {line.kind: line for line in drawn(found).lines if line.curve is not None}


def texts(found: Report) -> list[str]:
    return [text.text for text in drawn(found).texts]


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
    start, (across, down), zero, last = lines(found)["c0"].runs
    # From 10⁻⁷, the smallest that is allowed, to 10⁻² are five powers.
    assert start == ([0.0], [HEIGHT]) and zero == ([0.75], [HEIGHT]) and last == ([1.0], [0.0])
    powers = {text.text: text.down - 4 for text in drawn(found).texts if text.anchor == "end"}
    assert across == [0.25, 0.5] and down == pytest.approx([powers["10⁻³"], powers["10⁻⁵"]])


def test_the_legend_names_the_worst() -> None:
    assert list(drawn(parity_reports.small()).legend.values()) == [
        "dense/kernel, parameter",
        "allowed for dense/kernel",
        "dense/bias, parameter",
        "dense/kernel, grad_sq_ema / nu",
    ]
    within = (track(f"_leaf{i}", 1e-9 * (i + 1)) for i in range(9))
    parting = (track(f"worse{i}", 1e-2, start=2) for i in range(2))
    found = report(*within, *parting, track("first", {1: 1e-3}))
    assert list(drawn(found).legend.values()) == [
        *("first, parameter", "allowed for first"),
        *(f"worse{i}, parameter" for i in range(2)),
        *(f"_leaf{i}, parameter" for i in range(8, 5, -1)),
        "others within the tolerance",
    ]
    many = report(*(track(f"leaf{i}", 1e-2) for i in range(7)))
    assert list(drawn(many).legend.values())[-1] == "others that part"
    assert texts(many)[-1] == "others that part"


def test_the_worst_are_in_front_of_the_others() -> None:
    tracks = [track(f"a{i}", 1e-2 / (i + 1)) for i in range(8)] + [track("b", 1e-9)]
    kinds = [line.kind for line in drawn(report(*tracks)).lines if line.curve is not None]
    assert kinds == ["fine", "part", "part", "c5", "c4", "c3", "c2", "c1", "allowed", "c0"]


def test_what_is_not_finite_has_a_lane_of_its_own() -> None:
    found = parity_reports.with_nan()
    zero, strange = lines(found)["c0"].runs
    # Of 400 parts of 1001 steps.
    assert (zero[0][0], strange[0][0]) == (0.0005, pytest.approx(0.7, abs=0.002))
    assert set(zero[1]) == {HEIGHT} and set(strange[1]) == {0}
    assert len(zero[0]) + len(strange[0]) == 400
    assert "NaN, ∞" in texts(found) and "NaN, ∞" not in texts(parity_reports.small())


def test_what_there_is_nothing_to_measure_by_is_in_that_lane() -> None:
    held = report(track(error=0.5, distance=[0.0] * 21))
    for series in values(held, "to_distance"):
        assert series == [0] + [float("inf")] * 20
    assert values(held, "error")[0] == [0] + [0.5] * 20


def test_a_number_between_others_in_lanes_is_a_dot() -> None:
    found = report(track(error={3: float("nan"), 4: float("inf"), 5: 0.5}, steps=5), steps=5)
    assert [len(across) for across, _ in lines(found)["c0"].runs] == [3, 2, 1]
    assert 'class="dots"' in to_svg(found)


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
    ticks = [text for text in drawn(found).texts if text.down == HEIGHT + 20]
    shown = [int(tick.text.replace(",", "")) for tick in ticks]
    assert shown[0] == 0 and len(shown) <= 7 and shown[-1] <= steps
    assert len(shown) >= min(steps + 1, 3)
    assert [tick.across for tick in ticks] == [each / max(steps, 1) for each in shown]


@pytest.mark.parametrize("name", ["identical", "bare"])
def test_without_any_difference(name: str) -> None:
    found = getattr(parity_reports, name)()
    assert of(found) == [] and "no difference" in texts(found)
    assert drawn(found).legend == {}


def test_a_png_with_the_colours_of_the_curves() -> None:
    image = np.round(imread(io.BytesIO(to_png(parity_reports.small())), format="png") * 255)
    assert image.shape == (819, 1350, 4)
    colours = {tuple(colour) for colour in image.reshape(-1, 4)[:, :3].astype(int).tolist()}
    for colour in ["#ffffff", "#0072b2", "#d55e00", "#009e73", "#a8480b"]:
        assert tuple(bytes.fromhex(colour[1:])) in colours, colour


def test_an_svg() -> None:
    root = ElementTree.fromstring(to_svg(parity_reports.hostile()))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [each for each in root.iter() if each.tag.endswith("script")]


def test_a_dollar_sign_is_no_mathematics() -> None:
    found = report(track("$\\frac$", 1e-3), names=("a$_b$", "$"))
    assert drawn(found).legend["c0"] == "$\\frac$, parameter"
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
        "str(found), found.to_html(), found.to_json()\n"
        f"found.save({str(tmp_path / 'report.svg')!r})\n"
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

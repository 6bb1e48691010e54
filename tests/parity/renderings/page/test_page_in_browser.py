"""The page of a comparison, as a real browser shows it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.parity.report import Report
from tests.support import parity_reports
from tests.support.browser import Browser, browser
from tests.support.parity_reports import report, track

_CELLS = "return [...document.querySelectorAll('#arrays tbody tr')].map(r => r.cells[{}].innerText)"
_STROKES = (
    "return [...document.querySelectorAll('.plot')].filter(p => p.checkVisibility())"
    ".flatMap(p => [...p.querySelectorAll('[data-row], .allowed:not(.sample)')])"
    ".map(g => [g.classList[0], getComputedStyle(g.querySelector('path')).stroke,"
    " [...g.querySelectorAll('path')].map(p => p.getAttribute('d')).join('')])"
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as session:
        yield session


def opened(chromium: Browser, found: Report, folder: Path) -> None:
    page = folder / "report.html"
    found.save(page)
    chromium.open(page)


def several() -> Report:
    """Arrays in four orders: of their names, their errors, their ulps and their partings."""
    return report(
        track("b", 5e-3, start=9, largest=100.0),
        track("c", 1e-2, start=12),
        track("a", 1e-9),
        track("d", {17: float("nan")}),
        track("a", 1e-2, "mu", ("grad_ema", "mu"), largest=1e-3),
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of several arrays; drawing its curves takes longer than opening it."""
    page = tmp_path_factory.mktemp("page") / "report.html"
    several().save(page)
    return page


@pytest.fixture
def page(chromium: Browser, saved: Path) -> Browser:
    chromium.media(1100, 900)
    chromium.open(saved)
    return chromium


def column(page: Browser, index: int) -> Any:
    return page.run(_CELLS.format(index))


def heading(index: int) -> str:
    return f"#arrays thead th:nth-child({index + 1})"


def test_nothing_is_refused_and_nothing_is_fetched(page: Browser, saved: Path) -> None:
    assert page.texts("h1") == ["The two runs PART at step 1 of 20, in grad_ema / mu of a."]
    page.click("#by-ulps")
    page.click(heading(0) + " button")
    assert page.log("browser") == []
    assert page.requests() == [saved.as_uri()]


def test_a_script_of_someone_else_does_not_run(chromium: Browser, tmp_path: Path) -> None:
    opened(chromium, parity_reports.hostile(), tmp_path)
    assert chromium.log("browser") == []
    # The browser obeys the policy: it runs no script that is added, and makes no connection.
    chromium.run(
        "const s = document.createElement('script'); s.textContent = 'window.ran = true';"
        "document.body.append(s); fetch('data:,').catch(() => 0)"
    )
    assert chromium.run("return window.ran") is None
    refused = [entry["message"] for entry in chromium.log("browser")]
    assert all("Content Security Policy" in each for each in refused)
    assert "inline script" in refused[0] and "connect" in refused[-1]


def shown(page: Browser) -> list[tuple[str, str]]:
    return list(zip(column(page, 0), column(page, 1), strict=True))


def test_headings_sort_and_reverse(page: Browser) -> None:
    names = column(page, 0)
    assert names == ["d", "c", "b", "a", "a"]
    # By the keyboard as well.
    page.type(heading(0) + " button", "\ue007")
    assert column(page, 0) == ["a", "a", "b", "c", "d"]
    page.click(heading(6) + " button")
    assert column(page, 0) == ["a", "b", "c", "d", "a"]
    page.click(heading(6) + " button")
    # What never parts comes last in either order.
    assert column(page, 0) == ["d", "c", "b", "a", "a"]
    # Errors sort by their value.
    page.click(heading(4) + " button")
    assert page.run("return document.querySelector('[aria-sort]').innerText.trim()[0]") == "u"
    largest_first = [
        *(("d", "parameter"), ("a", "grad_ema / mu"), ("c", "parameter")),
        *(("b", "parameter"), ("a", "parameter")),
    ]
    assert shown(page) == largest_first
    page.click(heading(4) + " button")
    assert shown(page) == largest_first[::-1]
    sorts = page.run("return [...document.querySelectorAll('[aria-sort]')].map(e => e.ariaSort)")
    assert sorts == ["ascending"]
    # A row selects its curve wherever it is sorted to.
    page.click("#arrays tbody tr:last-child button")
    assert page.texts(".plot .selected title") == ["d, parameter"] * 4


def test_curves_and_metrics(page: Browser) -> None:
    assert page.texts(".plot .parting text") == ["first parting: 1"] * 4
    before = page.run(_STROKES)
    assert [kind for kind, _, _ in before] == ["c4", "c3", "c2", "c1", "allowed", "c0"]
    assert all(path.startswith("M") for _, _, path in before)
    # Each has a colour of its own.
    assert len({stroke for _, stroke, _ in before}) == 6
    page.click("#by-ulps")
    after = page.run(_STROKES)
    assert [kind for kind, _, _ in after] == [kind for kind, _, _ in before]
    changed = [old[2] != new[2] for old, new in zip(before, after, strict=True)]
    # All but that of d, which is only ever 0 or NaN.
    assert changed.count(False) == 1
    assert "error in units in the last place" in page.texts(".plot.ulps text")
    visible = "return [...document.querySelectorAll('.plot')].map(p => p.checkVisibility())"
    assert page.run(visible) == [False, False, True, False]


def test_zero_and_nan_have_lanes_of_their_own(page: Browser) -> None:
    texts = page.texts(".plot.to_distance text")
    assert "0" in texts and "NaN, ∞" in texts and "10⁻⁷" in texts
    places = page.run(
        "const box = e => e.getBoundingClientRect();"
        "const all = s => [...document.querySelectorAll('.plot.to_distance ' + s)];"
        "return [all('.lane path').map(e => box(e).top),"
        " all('[data-row=\"0\"] > path').map(e => [box(e).top, box(e).bottom]).flat(),"
        " all('[data-row=\"0\"] use').map(e => (box(e).top + box(e).bottom) / 2)]"
    )
    # 0 before and after, as two lines, and NaN as a dot.
    (zero, strange), line, dot = places
    assert line == [zero, zero] and dot == pytest.approx([strange], abs=0.1)


def test_all_that_is_drawn_is_on_the_axes(chromium: Browser, tmp_path: Path) -> None:
    # What is allowed is infinitely many parts of the distance of an array that has not moved.
    held = track("held", {5: 1e-12}, distance=[0.0] * 10 + [0.1] * 11)
    for found in (report(held), report(track(error={0: 0.5}, steps=0), steps=0), several()):
        opened(chromium, found, tmp_path)
        outside = chromium.run(
            "const all = document.querySelector('#figure').getBoundingClientRect();"
            "const drawn = '.plot.to_distance :is(path, text):not(defs *)';"
            "return [...document.querySelectorAll(drawn)].filter(e => {"
            "  const b = e.getBoundingClientRect();"
            "  return (b.left < all.left || b.right > all.right || b.bottom > all.bottom);"
            "}).map(e => e.outerHTML)"
        )
        assert outside == []
        tops = chromium.run(
            "const plot = document.querySelector('.plot.to_distance');"
            "const top = plot.getBoundingClientRect().top;"
            "return [...plot.querySelectorAll(':is([data-row], .allowed) > path')]"
            ".map(p => p.getBoundingClientRect().top - top)"
        )
        # Below the title of the axis.
        assert min(tops) >= 0


def test_a_row_selects_its_curve(page: Browser) -> None:
    assert page.texts("#arrays .selected th") == []
    for row, name in ((2, "c"), (5, "a")):
        page.click(f"#arrays tbody tr:nth-child({row}) button")
        assert page.texts("#arrays .selected th") == [name]
        assert page.texts("#arrays [aria-pressed=true]") == [name]
        # In each metric, and in front of all others.
        assert page.texts(".plot .selected title") == [f"{name}, parameter"] * 4
        assert page.texts(".plot g:last-child > title") == [f"{name}, parameter"] * 4
        width = (
            "return getComputedStyle(document.querySelector('.plot .selected path')).strokeWidth"
        )
        assert page.run(width) == "2.2px"


def test_the_curve_under_the_pointer_stands_out(page: Browser) -> None:
    # The one at the right end.
    width = "return getComputedStyle(document.querySelector('.to_distance .c0 path')).strokeWidth"
    assert page.run(width) == "1.7px"
    # The pointer is moved from the middle of what is seen of an element.
    page.run("document.getElementById('figure').scrollIntoView()")
    [across, down] = page.run(
        "const path = document.querySelector('.to_distance .c0 path');"
        "const end = path.getPointAtLength(path.getTotalLength() * 0.75);"
        "const at = new DOMPoint(end.x, end.y).matrixTransform(path.getScreenCTM());"
        "const all = path.ownerSVGElement.getBoundingClientRect();"
        "return [at.x - (all.left + all.right) / 2, at.y - (all.top + all.bottom) / 2]"
    )
    page.point_at(".plot.to_distance", round(across), round(down))
    assert page.run(width) == "2.2px"


def test_dark_narrow_and_printed(chromium: Browser, saved: Path) -> None:
    for width, scheme in [(1100, "dark"), (390, "light")]:
        chromium.media(width, 900, scheme)
        chromium.open(saved)
        background = rgb(chromium.run("return getComputedStyle(document.body).backgroundColor"))
        assert max(background) < 50 if scheme == "dark" else background == (255, 255, 255)
        # Nothing but the table in its own frame is wider than the window.
        assert chromium.run("return document.documentElement.scrollWidth") <= width
        [stroke] = [stroke for kind, stroke, _ in chromium.run(_STROKES) if kind == "c0"]
        chromium.run("document.getElementById('figure').scrollIntoView()")
        image = pixels(chromium.screenshot())
        assert image.shape[:2] == (900, width)
        colours = {tuple(colour) for colour in image.reshape(-1, 4)[:, :3].tolist()}
        assert rgb(stroke) != background and {rgb(stroke), background} < colours
    chromium.media(1100, 900, "dark", kind="print")
    assert rgb(chromium.run("return getComputedStyle(document.body).backgroundColor")) == (255,) * 3
    chromium.media(1100, 900)


def test_without_scripts_all_but_sorting_is_there(chromium: Browser, saved: Path) -> None:
    chromium.scripts(False)
    try:
        chromium.open(saved)
    finally:
        chromium.scripts(True)
    assert column(chromium, 0) == ["d", "c", "b", "a", "a"]
    assert chromium.texts("#arrays button") == []
    before = chromium.run(_STROKES)
    chromium.click("label[for=by-error]")
    after = chromium.run(_STROKES)
    assert len(before) == len(after) == 6 and before != after


def pixels(png: bytes) -> np.ndarray[Any, Any]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    from matplotlib.image import imread

    return np.round(imread(io.BytesIO(png), format="png") * 255).astype(int)


def rgb(colour: str) -> tuple[int, ...]:
    """The three numbers in what CSS calls a colour."""
    return tuple(map(int, colour[colour.index("(") + 1 : -1].split(",")[:3]))

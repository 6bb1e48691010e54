"""The site as readers see it: without a server, on a desk and on a phone, by day and by night."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.browser import Browser
from tests.support.pages import pages_of

DESK, PHONE = (1280, 900), (390, 844)
# One of each kind.
KINDS = ("index", "rules/FOC205", "parity", "served_names", "api", "optimizers/adam")

# How far the worst text of a page stands out from what is behind it, by the formula of WCAG 2.
CONTRAST = """
const channels = (color) => color.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => [r, g, b]
  .map((value) => value / 255)
  .map((value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  .reduce((sum, value, number) => sum + value * [0.2126, 0.7152, 0.0722][number], 0);
const behind = (element) => {
  for (let each = element; each; each = each.parentElement) {
    const [r, g, b, alpha = 1] = channels(getComputedStyle(each).backgroundColor);
    if (alpha > 0.99) return [r, g, b];
  }
  return [255, 255, 255];
};
const found = [];
for (const element of document.querySelectorAll("article *")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || !element.getClientRects().length || element.closest(".headerlink")) continue;
  const [a, b] = [channels(getComputedStyle(element).color), behind(element)].map(luminance);
  found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.textContent.slice(0, 60)]);
}
return found.sort((one, other) => one[0] - other[0])[0];
"""
WIDTHS = "const page = document.scrollingElement; return [page.scrollWidth, page.clientWidth]"


def until(condition: Callable[[], bool]) -> None:
    """Wait for what a page does by itself."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def errors(chromium: Browser) -> list[str]:
    return [each["message"] for each in chromium.log("browser") if each["level"] == "SEVERE"]


def test_no_page_is_wider_than_its_window(site: Path, chromium: Browser) -> None:
    wide = []
    for path in pages_of(site):
        chromium.open(path)
        for size in (DESK, PHONE):
            chromium.media(*size)
            needed, there = chromium.run(WIDTHS)
            if needed > there:
                wide.append((str(path.relative_to(site)), size, needed))
        assert not errors(chromium), path
        elsewhere = [each for each in chromium.requests() if each.startswith("http")]
        assert not elsewhere, path
    assert not wide


@pytest.mark.parametrize("page", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(site: Path, chromium: Browser, page: str, scheme: str) -> None:
    chromium.media(*DESK, scheme)
    chromium.open(site / f"{page}.html")
    assert chromium.run("return document.documentElement.dataset.theme") == scheme
    contrast, text = chromium.run(CONTRAST)
    assert contrast >= 4.5, text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_sides_of_a_diff_have_colours(site: Path, chromium: Browser, scheme: str) -> None:
    chromium.media(*DESK, scheme)
    chromium.open(site / "rules/FOC205.html")
    color = "(each) => getComputedStyle(document.querySelector(each)).color"
    parts = [".gd", ".gi", ".highlight-diff pre"]
    assert len(set(chromium.run(f"return arguments[0].map({color})", parts))) == 3


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("FOC205", "rules/FOC205.html"),
        ("jax.tree_map", "served_names.html"),
        ("has no attribute 'optim'", "README.html"),
        ("RMSProp", "optimizers/rmsprop.html"),
    ],
)
def test_the_search_needs_no_server(site: Path, chromium: Browser, words: str, page: str) -> None:
    chromium.media(*DESK)
    chromium.open(site / "index.html")
    chromium.click(".bd-sidebar-primary .search-button__button")
    chromium.type("#pst-search-dialog input", f"{words}\n")
    until(lambda: any("found" in each for each in chromium.texts(".search-summary")))
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.href)"
    found = chromium.run(script, "#search-results li a")
    pages = [each.partition("?")[0].partition("#")[0] for each in found]
    assert (site / page).as_uri() in pages[:10]


def test_a_long_table_can_be_searched_and_sorted(site: Path, chromium: Browser) -> None:
    chromium.media(*PHONE)
    chromium.open(site / "served_names.html")
    shown = "return [...document.querySelectorAll('tbody tr')].filter(row => !row.hidden)"
    everything = chromium.run(f"{shown}.length")
    chromium.type(".table-filter input", "jax tree_map")
    names = chromium.run(f"{shown}.map(row => row.cells[0].textContent)")
    assert "jax.tree_map" in names and len(names) < 20 < everything
    assert chromium.texts(".table-filter [role=status]") == [f"{len(names)} of {everything}"]
    assert chromium.texts("th[aria-sort]") == []
    for order, is_reversed in (("ascending", False), ("descending", True)):
        chromium.click("th:last-of-type button")
        assert chromium.texts(f"th[aria-sort={order}]") == ["gone since"]
        texts = chromium.run(f"{shown}.map(row => row.cells[2].textContent)")
        numbers = [[int(part) for part in each.split()[1].split(".")] for each in texts]
        assert numbers == sorted(numbers, reverse=is_reversed)


def test_tables_are_tables_without_scripts(site: Path, chromium: Browser) -> None:
    chromium.scripts(False)
    try:
        chromium.open(site / "served_names.html")
        assert chromium.texts(".table-filter") == []
        assert len(chromium.texts("tbody tr")) > 500
    finally:
        chromium.scripts(True)

"""A comparison as a page: what is in the HTML, before any browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.parity.renderings.page import to_html
from tests.support import parity_reports
from tests.support.parity_reports import EPS, HOSTILE, report, track


class Page(HTMLParser):
    """A page taken apart: its elements, the text of each kind, and its data."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(html)
        self.close()
        self.data: Any = json.loads(self.texts["script"][0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"there is a comment: {data}")

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def policy_of(page: Page) -> dict[str, str]:
    [policy] = [
        attributes["content"] or ""
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    return dict(part.strip().split(" ", 1) for part in policy.split(";"))


def test_only_what_is_in_the_page_may_run() -> None:
    page = Page(to_html(parity_reports.small()))
    policy = policy_of(page)
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    for name, text in (
        ("script-src", page.texts["script"][1]),
        ("style-src", page.texts["style"][0]),
    ):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy[name] == f"'sha256-{digest}'"
    assert set(policy) == {"default-src", "base-uri", "form-action", "script-src", "style-src"}


def test_nothing_is_loaded() -> None:
    html = to_html(parity_reports.small())
    page = Page(html)
    assert not {"link", "img", "iframe", "a", "form"} & {tag for tag, _ in page.elements}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {"src", "href", "style"} & names
    assert not [name for name in names if name.startswith("on")]
    # The name of SVG is no address.
    assert re.findall(r"https?://[^\"']*|url\(|@import", html) == ["http://www.w3.org/2000/svg"]


def test_it_reads_without_a_script() -> None:
    page = Page(to_html(parity_reports.small()))
    assert page.texts["h1"] == ["The two runs PART at step 6 of 20, in dense/kernel."]
    assert page.texts["mark"] == ["0000286"]
    body = "".join(page.texts["main"])
    assert EPS.summary in body and EPS.remedy in body
    assert "3 arrays, one of which parts" in body and "grad_sq_ema / nu" in body
    assert page.texts["td"][-18:-12] == [
        *("parameter", "4.78e-03", "4.78e-03", "40,110", "2.39e-02", "6")
    ]
    assert ("section", {"id": "figure", "hidden": None}) in page.elements


def test_hostile_names_are_text() -> None:
    found = parity_reports.hostile()
    html = to_html(found)
    page = Page(html)
    tracks = [track("w", 1e-3), track("v", 1e-3)]
    plain = Page(to_html(report(*tracks, causes=[EPS], notes=["n"], values=(0.1, 0.2))))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
    shown = HOSTILE.replace("\u2028", r"\u2028").replace("\x1b", r"\x1b")
    for tag in ("title", "h1", "code", "li", "footer", "tbody"):
        assert any(shown in text for text in page.texts[tag]), tag
    assert page.data["curves"][-1]["leaf"] == f"{shown}/kernel"
    assert "\x1b" not in html and "\u2028" not in html
    assert "größe/层/ядро/nested" in page.texts["tbody"][-1]


@pytest.mark.parametrize("name", ["identical", "bare"])
def test_without_differences_there_are_no_curves(name: str) -> None:
    page = Page(to_html(getattr(parity_reports, name)()))
    assert page.data["curves"] == [] and page.data["parting"] is None
    assert page.texts["tbody"][-1].endswith("0000-\n")


def test_nothing_to_compare() -> None:
    page = Page(to_html(report()))
    assert page.texts["h1"] == ["There is nothing to compare: the parameters hold no arrays."]
    assert page.count("table") == 1


def test_curves_are_exact_where_there_are_few_steps() -> None:
    found = report(track("w", {2: 0.25, 3: 0.5}, steps=3), steps=3)
    [curve] = Page(to_html(found)).data["curves"]
    assert curve["of"]["error"] == [0, 0, 0.25, 0.5]
    assert curve["of"]["ulps"] == [0, 0, 2_100_000, 4_190_000]
    assert curve["of"]["to_distance"] == [0, 0, 12.5, 16.7]
    assert curve["allowed"]["error"] == [0, 9.54e-7, 1.35e-6, 1.65e-6]
    assert curve["allowed"]["ulps"] == [0, 8, 11.3, 13.9]
    assert curve["parts"] is True


def test_thinned_curves_keep_the_largest_errors() -> None:
    steps = 100_000
    spikes = {0: 1e-9, 77_777: 0.5, steps: 0.25}
    data = Page(to_html(report(track("w", spikes, steps=steps), steps=steps))).data
    [curve] = data["curves"]
    assert len(data["starts"]) == len(curve["of"]["error"]) == 400
    starts = np.asarray(data["starts"])
    expected = np.zeros(400)
    for step, error in spikes.items():
        expected[np.searchsorted(starts, step, "right") - 1] = error
    assert curve["of"]["error"] == expected.tolist()
    # The least that is allowed in a part of the steps is that of its first one.
    assert curve["allowed"]["ulps"][1:3] == [
        float(f"{max(8 * s**0.5, 5e-6 * 0.01 * s * 2**23):.3g}") for s in starts[1:3].tolist()
    ]


def test_what_is_not_finite_has_no_number() -> None:
    steps = {3: float("nan"), 4: float("inf"), 5: 0.5}
    [curve] = Page(to_html(report(track(error=steps, steps=5), steps=5))).data["curves"]
    assert curve["of"]["error"] == [0, 0, 0, "x", "x", 0.5]
    held = report(track(error=0.5, distance=[0.0] * 21))
    [curve] = Page(to_html(held)).data["curves"]
    assert curve["of"]["to_distance"] == [0] + ["i"] * 20
    assert curve["allowed"]["to_distance"] == [0] + ["i"] * 20
    assert curve["of"]["error"] == [0] + [0.5] * 20


def test_the_first_parting_has_a_curve_even_if_it_is_not_the_worst() -> None:
    worse = [track(f"leaf{i}", 1.0, start=3) for i in range(250)]
    data = Page(to_html(report(*worse, track("least", 1e-3, start=2)))).data
    assert len(data["curves"]) == 201 and data["first"] == data["curves"][-1]["row"] == 250
    assert data["curves"][-1]["leaf"] == "least" and data["parting"] == 2


def test_a_page_of_many_arrays_stays_small() -> None:
    tracks = [track(f"leaf{i:05}", 1e-9 * (i + 1), steps=2) for i in range(10_050)]
    html = to_html(report(*tracks, steps=2))
    assert len(html) < 4e6
    assert html.count("<tr") == 10_000 + 1 + 3
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    # The 200 worst, and that in which the runs first part.
    assert len(data["curves"]) == 201
    assert "<p>and 50 more, none of which parts.</p>" in html
    assert "<p>Only the 200 worst arrays have curves.</p>" in html


def test_a_page_of_many_steps_stays_small() -> None:
    html = to_html(parity_reports.unlike(220, 3000))
    assert len(html) < 8e6
    assert "A curve has 400 points for 3,001 steps" in html

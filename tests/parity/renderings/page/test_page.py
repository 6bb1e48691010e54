"""A comparison as a page: what is in the HTML, before any browser."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser

import pytest

from flaxoptim_compat.parity.renderings.page import to_html
from tests.support import parity_reports
from tests.support.parity_reports import EPS, HOSTILE, report, track


class Page(HTMLParser):
    """A page taken apart: its elements, and the text of each kind."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(html)
        self.close()

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


@pytest.fixture(scope="module")
def small() -> str:
    """The page of a small report, whose curves take a while to draw."""
    return to_html(parity_reports.small())


def policy_of(page: Page) -> dict[str, str]:
    [policy] = [
        attributes["content"] or ""
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    return dict(part.strip().split(" ", 1) for part in policy.split(";"))


def test_only_what_is_in_the_page_may_run(small: str) -> None:
    page = Page(small)
    policy = policy_of(page)
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    for name in ("script", "style"):
        digest = hashlib.sha256(page.texts[name][0].encode()).digest()
        assert policy[f"{name}-src"] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert set(policy) == {"default-src", "base-uri", "form-action", "script-src", "style-src"}


def test_nothing_is_loaded(small: str) -> None:
    page = Page(small)
    assert not {"link", "img", "iframe", "a", "form"} & {tag for tag, _ in page.elements}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {"src", "href", "style"} & names
    assert not [name for name in names if name.startswith("on")]
    assert re.findall(r"https?://[^\"']*|url\(|@import", small) == []


def test_it_reads_without_a_script(small: str) -> None:
    page = Page(small)
    assert page.texts["h1"] == ["The two runs PART at step 6 of 20, in dense/kernel."]
    assert page.texts["mark"] == ["0000286"]
    body = "".join(page.texts["main"])
    assert EPS.summary in body and EPS.remedy in body
    assert "3 arrays, one of which parts" in body and "grad_sq_ema / nu" in body
    assert page.texts["td"][-18:-12] == [
        *("parameter", "4.78e-03", "4.78e-03", "40,110", "2.39e-02", "6")
    ]
    # A picture in each of four metrics, one of which is chosen.
    plots = [text for text in page.texts["svg"] if "steps done" in text]
    assert len(plots) == 4 and all("first parting: 6" in text for text in plots)
    chosen = [each.get("id") for tag, each in page.elements if tag == "input" and "checked" in each]
    assert chosen == ["by-to_distance"]
    assert page.texts["title"][1:].count("dense/kernel, grad_sq_ema / nu") == 4
    assert page.texts["text"].count("allowed for dense/kernel") == 4


def test_without_matplotlib_a_page_says_how_to_get_the_curves(
    monkeypatch: pytest.MonkeyPatch, small: str
) -> None:
    whole = Page(small)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(to_html(parity_reports.small()))
    assert page.count("svg") == 0
    assert any("pip install 'flaxoptim_compat[plot]'" in text for text in page.texts["p"])
    assert page.texts["tbody"] == whole.texts["tbody"] and page.texts["li"] == whole.texts["li"]


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
    assert f"{shown}/kernel, {shown} / nu" in page.texts["title"][1:]
    assert "\x1b" not in html and "\u2028" not in html
    assert "größe/层/ядро/nested" in page.texts["tbody"][-1]


def test_without_differences_there_are_no_curves() -> None:
    for found in (parity_reports.identical(), parity_reports.bare()):
        page = Page(to_html(found))
        assert page.count("svg") == page.count("input") == 0
        assert page.texts["tbody"][-1].endswith("0000-\n")
    page = Page(to_html(report()))
    assert page.texts["h1"] == ["There is nothing to compare: the parameters hold no arrays."]
    assert page.count("table") == 1


def test_a_page_of_many_arrays_and_steps_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    html = to_html(parity_reports.unlike(220, 3000))
    assert len(html) < 8e6
    assert "A curve has 400 points for 3,001 steps" in html
    # The 200 worst, each in four metrics.
    assert html.count(' data-row="') == 4 * 200
    assert "<p>Only the 200 worst arrays have curves.</p>" in html
    few = to_html(report(*(track(f"leaf{i}", 1e-9) for i in range(200))))
    assert few.count(' data-row="') == 4 * 200 and "worst arrays have curves" not in few
    # The rows alone, of many more arrays.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    tracks = [track(f"leaf{i:05}", 1e-9 * (i + 1), steps=2) for i in range(10_050)]
    html = to_html(report(*tracks, steps=2))
    assert len(html) < 4e6
    assert html.count("<tr") == 10_000 + 1 + 3
    assert "<p>and 50 more, none of which parts.</p>" in html

"""What is on the site, read as files."""

from __future__ import annotations

import functools
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from flaxoptim_compat import addresses
from flaxoptim_compat.migrate.rules import rule_modules
from tests.generate import api
from tests.support.pages import pages_of
from tests.support.places import GUIDE

SITE = "https://example.org/guide"
REPOSITORY = "https://example.org/source"


class Page(HTMLParser):
    """The links of a page, what it loads, what can be linked to, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.text = ""
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") != "canonical":
            self.loaded.append(found["href"])
        elif "src" in found:
            self.loaded.append(found["src"])

    def handle_data(self, data: str) -> None:
        self.text += data


@functools.cache
def parsed(path: Path) -> Page:
    return Page(path)


def test_every_page_of_the_guide_is_there(site: Path) -> None:
    made = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    pages = [*GUIDE.rglob("*.md"), *GUIDE.rglob("*.ipynb")]
    assert {path.relative_to(GUIDE).with_suffix("") for path in pages} <= made
    for folder in ("", "rules", "optimizers"):
        assert (site / folder / "index.html").read_bytes() == (
            site / folder / "README.html"
        ).read_bytes()


def test_no_link_is_dead_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    dead, seen = [], 0
    for path in pages_of(site):
        page = parsed(path)
        for address in [*page.links, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                assert parts.scheme == "https" and address not in page.loaded, (path, address)
                continue
            seen += 1
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_page = file.suffix == ".html" and file.is_file()
            anchored = not parts.fragment or (
                is_page and unquote(parts.fragment) in parsed(file).anchors
            )
            if not file.is_file() or not anchored:
                dead.append((str(path.relative_to(site)), address))
    assert not dead
    assert seen > 5_000


def test_the_sidebar_follows_the_first_page(site: Path) -> None:
    text = (site / "index.html").read_text()
    captions = re.findall(r'<span class="caption-text">([^<]*)<', text)
    *_, headings = (re.findall(r"(?m)^## (\D.*)\n\n\| page", (GUIDE / "README.md").read_text()),)
    assert list(dict.fromkeys(captions)) == headings
    sidebar = re.findall(r'class="toctree-l2"><a class="reference internal" href="([^"]*)"', text)
    assert {f"rules/{code}.html" for code in rule_modules()} <= set(sidebar)


def test_rules_are_where_their_addresses_say(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "urls", lambda: {"Documentation": SITE})
    for code, module in rule_modules().items():
        file = site / addresses.page_of_rule(code).removeprefix(f"{SITE}/")
        assert f"{code} {module.rule.name}" in parsed(file).text


def test_every_public_name_is_described_with_its_types(site: Path) -> None:
    page = parsed(site / "api.html")
    for module in api.MODULES:
        for name in api.names(module):
            assert {f"{module}.{name}", f"module-{module}.{name}"} & page.anchors, name
    text = " ".join(page.text.split())
    assert "flaxoptim_compat.optim.Adam( learning_rate: Number | None = None, beta1: " in text
    assert "beta2 – decay of the average of squared gradients, at least 0 and less than 1." in text


@pytest.mark.parametrize("urls", [{}, {"Documentation": SITE, "Repository": REPOSITORY}])
def test_the_site_knows_its_address(urls: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "urls", lambda: urls)
    monkeypatch.setattr("sys.path", ["."])
    settings = runpy.run_path(str(GUIDE / "site" / "conf.py"))
    assert settings["html_baseurl"] == urls.get("Documentation", "")
    assert settings["html_theme_options"].get("repository_url") == urls.get("Repository")

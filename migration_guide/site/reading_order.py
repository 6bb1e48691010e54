"""The tables of the README files are the tables of contents of the site."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_LINE = re.compile(r"^## (?P<heading>.+)|^\| \[[^\]]*\]\((?P<page>[^)#]+)\.(?:md|ipynb)\) \|", re.M)


def with_contents(text: str) -> str:
    """A page with a hidden table of contents for each of its headings with a table of links."""
    contents: dict[str, list[str]] = {}
    heading = ""
    for line in _LINE.finditer(text):
        heading = line["heading"] or heading
        if line["page"]:
            contents.setdefault(heading, []).append(line["page"])
    return "\n\n".join([text, *(_toctree(*each) for each in contents.items())])


def _toctree(caption: str, pages: list[str]) -> str:
    named = [f":caption: {caption}"] if caption else []
    return "\n".join(["```{toctree}", ":hidden:", *named, "", *pages, "```", ""])


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    if Path(page).name == app.config.root_doc:
        source[0] = with_contents(source[0])


def _finished(app: Sphinx, failure: Exception | None) -> None:
    """A folder's README is what a server answers for the folder."""
    if failure is None:
        for page in Path(app.outdir).rglob(f"{app.config.root_doc}.html"):
            shutil.copyfile(page, page.with_name("index.html"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", _read)
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True}

"""A report as one HTML page, which needs nothing beside itself.

A content security policy allows the one script and the one style that are in the page, by their
hashes, and no connection at all. Without JavaScript the page has everything, but its table cannot
be sorted.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from string import Template

from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.page.sections import (
    about,
    arrays,
    causes,
    escaped,
    figure,
    verdict,
)
from flaxoptim_compat.parity.renderings.rows import rows
from flaxoptim_compat.parity.renderings.wording import headline


def to_html(report: Findings) -> str:
    """The page: verdict, values, causes, curves of the worst arrays, and a table of all."""
    ranked = rows(report)
    # In a block, so that its names are its alone.
    script, style = f'"use strict";\n{{\n{_file("script.js")}}}\n', _file("style.css")
    return Template(_file("template.html")).substitute(
        script_hash=_hash(script),
        style_hash=_hash(style),
        title=escaped(headline(report)),
        style=style,
        verdict=verdict(report),
        causes=causes(report),
        figure=figure(ranked, report),
        arrays=arrays(ranked, report),
        about=about(report),
        script=script,
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"

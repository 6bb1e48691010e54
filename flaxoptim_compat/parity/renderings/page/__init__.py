"""A report as one HTML page, which needs nothing beside itself.

A content security policy allows the one script and the one style that are in the page, by their
hashes, and no connection at all. Without JavaScript the page has everything but the curves.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from string import Template

from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.page.curves import curves
from flaxoptim_compat.parity.renderings.page.sections import about, arrays, causes, escaped, verdict
from flaxoptim_compat.parity.renderings.rows import rows
from flaxoptim_compat.parity.renderings.wording import headline

# Inside of a script element, text may not look like its end or like a comment.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def to_html(report: Findings) -> str:
    """The page: verdict, values, causes, curves of the worst arrays, and a table of all."""
    ranked = rows(report)
    script, style = _script(), _file("style.css")
    data = json.dumps(curves(ranked, report), allow_nan=False, separators=(",", ":"))
    return Template(_file("template.html")).substitute(
        script_hash=_hash(script),
        style_hash=_hash(style),
        title=escaped(headline(report)),
        style=style,
        verdict=verdict(report),
        causes=causes(report),
        arrays=arrays(ranked, report),
        about=about(report),
        data=data.translate(_ESCAPES),
        script=script,
    )


def _script() -> str:
    """The files of the script as one, in a block, so that their names are theirs alone."""
    files = map(_file, ("data.js", "table.js", "plot.js", "script.js"))
    return '"use strict";\n{\n' + "\n".join(files) + "}\n"


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"

"""The README and the pages of the guide, the blocks of code in them, and the site made of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.places import ROOT

README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "migration_guide").rglob("*.md"))]
NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]\d+)?")


def text_of(page: Path) -> str:
    """A page of the guide; of a notebook, what is not code."""
    if page.suffix != ".ipynb":
        return page.read_text()
    cells = json.loads(page.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def pages_of(site: Path) -> list[Path]:
    """The pages of a site that sphinx-build made; what the theme brings beside them are none."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]

"""The README and the pages of the guide, and the blocks of code in them."""

from __future__ import annotations

import re

from tests.support.places import ROOT

README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "migration_guide").rglob("*.md"))]
NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]\d+)?")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)

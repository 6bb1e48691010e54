"""The site that ``sphinx-build`` makes of the guide, as files."""

from __future__ import annotations

from pathlib import Path


def pages_of(site: Path) -> list[Path]:
    """Its pages; what the theme brings beside them are none."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]

"""Tables written as text: headings, and indented rows below each heading."""

from __future__ import annotations

from collections.abc import Iterator


def rows(table: str) -> Iterator[tuple[str, str]]:
    """The rows, each with its heading; lines with more indentation continue a row."""
    heading = ""
    for line in table.replace("\n      ", " ").split("\n"):
        if line[:2] == "  " and line[2] != "#":
            yield heading, line[2:]
        elif line[:1] not in ("", " ", "#"):
            heading = line

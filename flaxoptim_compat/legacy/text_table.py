"""Tables written as text: headings, and indented rows below each heading."""

from __future__ import annotations

from collections.abc import Iterator


def rows(table: str) -> Iterator[tuple[str, str]]:
    """The rows, each with its heading, or with each of its headings, between which are blanks.

    Lines with more indentation continue a row.
    """
    headings: list[str] = []
    for line in table.replace("\n      ", " ").split("\n"):
        if line[:2] == "  " and line[2] != "#":
            yield from ((heading, line[2:]) for heading in headings)
        elif line[:1] not in ("", " ", "#"):
            headings = line.split()

"""A text before and after, as a diff in which all lines stand that there are."""

from __future__ import annotations

from collections.abc import Mapping


def sides(diff: str) -> tuple[str, str]:
    """The text before and the text after; a line with nothing on it is in both."""
    lines = [line if line.strip() else f" {line.lstrip(' ')}" for line in diff.splitlines(True)]
    before, after = (
        "".join(line[1:] for line in lines if not line.startswith(other)) for other in "+-"
    )
    return before, after


def pairs(diffs: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The two texts of each diff."""
    return {what: sides(diff) for what, diff in diffs.items()}

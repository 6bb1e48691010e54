"""Printing patches, in colours on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flaxoptim_compat.cli.output import print_styled

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.run.reports import Report

_STYLES = {"---": "bold", "+++": "bold", "@@ ": "cyan"}
_FIRST = {"-": "red", "+": "green"}


def print_diffs(report: Report) -> None:
    """Print what would change in all files, as one patch."""
    lines = [(line, _STYLES.get(line[:3]) or _FIRST.get(line[:1], "")) for line in _lines(report)]
    if lines:
        print_styled(lines)


def _lines(report: Report) -> Iterator[str]:
    from flaxoptim_compat.migrate.editing.edits import unified_diff

    for each in report.files:
        if each.new is not None:
            yield from unified_diff(each.path, each.old, each.new)

"""Printing patches, in colours on a terminal where rich is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flaxoptim_compat.cli.output import print_text

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.reports import Report

_STYLES = {"---": "bold", "+++": "bold", "@@ ": "cyan"}
_FIRST = {"-": "red", "+": "green"}


def print_diffs(report: Report) -> None:
    """Print what would change in all files, as one patch."""
    lines = list(_lines(report))
    if not lines:
        return
    if sys.stdout.isatty() and importlib.util.find_spec("rich") is not None:
        _print_in_colours(lines)
    else:
        print_text("\n".join(lines))


def _lines(report: Report) -> Iterator[str]:
    from flaxoptim_compat.migrate.diffs import unified_diff

    for each in report.files:
        if each.new is not None:
            yield from unified_diff(each.path, each.old, each.new)


def _print_in_colours(lines: list[str]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        style = _STYLES.get(line[:3]) or _FIRST.get(line[:1], "")
        # A line of a patch stays one.
        console.print(Text(line, style=style), soft_wrap=True)

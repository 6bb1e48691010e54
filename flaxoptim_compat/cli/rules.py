"""``flaxoptim-compat rules``: the rules that scan and rewrite follow, in a table."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flaxoptim_compat.cli.output import print_text

if TYPE_CHECKING:
    from rich.console import Console

    from flaxoptim_compat.migrate.rules.rule import Rule

SUMMARY = "List what scan finds and rewrite changes, by code"

_HEADINGS = ("code", "name", "rewritten to", "what it finds")
_END = "flaxoptim-compat explain CODE says what a rule does, why, and when it does not."
_NARROWEST = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options: there are none."""


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    del arguments
    rows = [_row(rule) for rule in all_rules()]
    console = terminal()
    if console is None:
        print_text(f"{table(rows, shutil.get_terminal_size((100, 0)).columns)}\n\n{_END}")
        return 0
    from rich.table import Table

    pretty = Table(*_HEADINGS, box=None, pad_edge=False)
    for row in rows:
        # The texts are Markdown, in which rich would take [brackets] for its own marks.
        pretty.add_row(*(each.replace("[", "\\[") for each in row))
    console.print(pretty, f"\n{_END}")
    return 0


def all_rules() -> list[Rule]:
    """The rules in the order of their codes."""
    from flaxoptim_compat.migrate.rules import rule_modules

    return [module.RULE for module in rule_modules().values()]


def terminal() -> Console | None:
    """The terminal, if stdout is one and rich is installed, which can write on it with colours."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console()


def _row(rule: Rule) -> tuple[str, ...]:
    from flaxoptim_compat.migrate.rules.pages import targets

    return rule.code, rule.name, ", ".join(targets(rule)) or "-", rule.summary


def table(rows: Iterable[Sequence[str]], width: int) -> str:
    """Rows below the headings, in columns; the last one is folded.

    Args:
      rows: as many texts as there are headings.
      width: of the lines, unless that leaves too little for the last column.
    """
    lines = [_HEADINGS, *rows]
    *widths, _ = [max(map(len, column)) for column in zip(*lines, strict=True)]
    margin = sum(widths) + 2 * len(widths)
    return "\n".join(
        textwrap.fill(
            text,
            max(width, margin + _NARROWEST),
            initial_indent="".join(
                f"{cell:{size + 2}}" for cell, size in zip(cells, widths, strict=True)
            ),
            subsequent_indent=" " * margin,
            break_on_hyphens=False,
        )
        for *cells, text in lines
    )

"""``flaxoptim-compat rules``: the rules that scan and rewrite follow, in a table."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flaxoptim_compat.cli.output import print_styled

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.rules.rule import Rule

SUMMARY = "List what scan finds and rewrite changes, by code"

_HEADINGS = ("code", "name", "rewritten to", "what it finds")
_END = "flaxoptim-compat explain CODE says what a rule does, why, and when it does not."
_NARROWEST = 40
_EPILOG = """\
examples:
  flaxoptim-compat rules
  flaxoptim-compat explain FOC101     # one of them, with examples

Exit status: 0 always."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options: there are none."""
    parser.epilog = _EPILOG


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    del arguments
    rows = [_row(rule) for rule in all_rules()]
    heading, *lines = table(rows, shutil.get_terminal_size((100, 0)).columns)
    print_styled([(heading, "bold"), *((line, "") for line in [*lines, "", _END])])
    return 0


def all_rules() -> list[Rule]:
    """The rules in the order of their codes."""
    from flaxoptim_compat.migrate.rules import rule_modules

    return [each.rule for each in rule_modules().values()]


def _row(rule: Rule) -> tuple[str, ...]:
    from flaxoptim_compat.migrate.rules.page import summary

    return rule.code, rule.name, ", ".join(rule.targets) or "-", summary(rule.code)


def table(rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """The lines of a table: headings and rows, in columns of which the last one is folded.

    Args:
      rows: as many texts as there are headings.
      width: of the lines, unless that leaves too little for the last column.
    """
    from flaxoptim_compat.columns import in_columns

    *others, last = zip(_HEADINGS, *rows, strict=True)
    beginnings = in_columns(list(zip(*others, strict=True)))
    margin = max(map(len, beginnings)) + 2
    return [
        line
        for beginning, text in zip(beginnings, last, strict=True)
        for line in textwrap.wrap(
            text,
            max(width, margin + _NARROWEST),
            initial_indent=beginning.ljust(margin),
            subsequent_indent=" " * margin,
            break_on_hyphens=False,
        )
    ]

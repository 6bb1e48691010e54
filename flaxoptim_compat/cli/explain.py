"""``flaxoptim-compat explain``: the pages of rules, or the list of all."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from flaxoptim_compat.cli.output import print_error, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flaxoptim_compat.migrate.rules.rule import Rule

SUMMARY = "Say what scan finds and rewrite changes: all rules in a list, or the pages of some"

_HEADINGS = ("code", "name", "rewritten to", "what it finds")
_END = "flaxoptim-compat explain CODE says what a rule does, why, and when it does not."
# In less, the summaries would have no place beside the names.
_NARROWEST = 100
EPILOG = """\
examples:
  flaxoptim-compat explain            # lists all rules
  flaxoptim-compat explain FOC101     # one of them, with examples

Exit status: 0 if there are such rules, 2 if not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the codes."""
    parser.add_argument(
        "codes", metavar="CODE", nargs="*", help="such as FOC101; without any, all rules are listed"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the pages of the rules, or the list of all; returns 2 if there is no such rule."""
    from flaxoptim_compat.migrate.rules import rule_modules

    rules = {each.rule.code: each.rule for each in rule_modules().values()}
    codes = [f"FOC{code}" if code.isdigit() else code.upper() for code in arguments.codes]
    unknown = [code for code in codes if code not in rules]
    if unknown:
        print_error(f"There is no rule {', '.join(unknown)}. All: flaxoptim-compat explain")
        return 2
    if codes:
        _print_pages(codes)
    else:
        _print_list(rules)
    return 0


def _print_pages(codes: list[str]) -> None:
    from flaxoptim_compat.addresses import page_of_rule
    from flaxoptim_compat.migrate.rules.page import page

    pages = [_with_address(page(code), page_of_rule(code)) for code in codes]
    if not sys.stdout.isatty():
        print_text("\n".join(pages).rstrip("\n"))
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    for text in pages:
        console.print(Markdown(text, hyperlinks=False))


def _with_address(text: str, address: str) -> str:
    return f"{text}\nThis page: <{address}>\n" if address else text


def _print_list(rules: Mapping[str, Rule]) -> None:
    from rich.console import Console
    from rich.table import Table

    from flaxoptim_compat.migrate.rules.page import summary

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    *names, summaries = _HEADINGS
    for heading in names:
        table.add_column(heading, no_wrap=True)
    table.add_column(summaries, overflow="fold")
    for rule in rules.values():
        table.add_row(rule.code, rule.name, ", ".join(rule.targets) or "-", summary(rule.code))
    width = max(shutil.get_terminal_size((100, 0)).columns, _NARROWEST)
    console = Console(highlight=False, markup=False, width=width)
    with console.capture() as printed:
        console.print(table)
    lines = [*map(str.rstrip, printed.get().splitlines()), "", _END]
    print_text("\n".join(lines), exact=True)

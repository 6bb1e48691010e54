"""``flaxoptim-compat explain``: the page of a rule."""

from __future__ import annotations

import argparse
import sys

from flaxoptim_compat.cli.output import print_error, print_text
from flaxoptim_compat.cli.rules import all_rules

SUMMARY = "Print what a rule of scan and rewrite does, why, and when it does not"

_EPILOG = """\
examples:
  flaxoptim-compat explain FOC101
  flaxoptim-compat rules              # lists the codes

Exit status: 0 if there are such rules, 2 if not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the codes."""
    parser.epilog = _EPILOG
    parser.add_argument("codes", metavar="CODE", nargs="+", help="such as FOC101")


def run(arguments: argparse.Namespace) -> int:
    """Print the pages, one after the other; 2 if there is no such rule."""
    from flaxoptim_compat.addresses import page_of_rule
    from flaxoptim_compat.migrate.rules.page import page

    rules = [rule.code for rule in all_rules()]
    codes = [code.upper() for code in arguments.codes]
    unknown = [code for code in codes if code not in rules]
    if unknown:
        print_error(f"There is no rule {', '.join(unknown)}. There are {', '.join(rules)}.")
        return 2
    pages = [_with_address(page(code), page_of_rule(code)) for code in codes]
    if not sys.stdout.isatty():
        print_text("\n".join(pages).rstrip("\n"))
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    for text in pages:
        console.print(Markdown(text, hyperlinks=False))
    return 0


def _with_address(text: str, address: str) -> str:
    return f"{text}\nThis page: <{address}>\n" if address else text

"""``flaxoptim-compat scan``: where a program uses what is gone."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flaxoptim_compat.cli import program_files
from flaxoptim_compat.cli.output import print_error, print_text

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.run.reports import Report

SUMMARY = (
    "List where a program uses flax.optim and other names that are gone, and what replaces them"
)

_EPILOG = f"""\
It runs none of the program. It follows imports, the names that files give to what they import, and
names that one file imports from another. What it sees and does not understand it lists at the end,
and what it cannot read.

{program_files.SETTINGS}

Exit status: 0 if nothing was found, 1 if something was, 2 if something could not be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the subcommand."""
    program_files.add_arguments(parser)
    parser.epilog = _EPILOG
    parser.add_argument(
        "--format",
        choices=("text", "json", "github", "sarif"),
        default="text",
        help="text, the default; json; annotations of GitHub; SARIF 2.1.0 for code hosts, editors",
    )
    parser.add_argument(
        "--statistics",
        action="store_true",
        help="instead of the findings, how many there are of each rule and in each file",
    )
    parser.set_defaults(error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Read the files, and print what was found."""
    from flaxoptim_compat.migrate.run.settings import SettingsError

    if arguments.statistics and arguments.format != "text":
        arguments.error("--statistics is text; with another --format, count what it lists.")
    try:
        report = program_files.run_over(arguments, program_files.task_for(arguments))
    except SettingsError as error:
        print_error(error)
        return 2
    except KeyboardInterrupt:
        print_error("stopped.")
        return 130
    print_text("\n".join(_lines(report, arguments)))
    return report.status


def _lines(report: Report, arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.statistics:
        from flaxoptim_compat.migrate.formats.as_text import as_statistics
        from flaxoptim_compat.migrate.rules import rule_modules

        yield from as_statistics(
            report, {code: each.rule.name for code, each in rule_modules().items()}
        )
    elif arguments.format == "text":
        from flaxoptim_compat.migrate.formats.as_text import as_text

        yield from as_text(report)
    elif arguments.format == "github":
        from flaxoptim_compat.migrate.formats.as_github import as_github

        yield from as_github(report)
    elif arguments.format == "json":
        from flaxoptim_compat.migrate.formats.as_json import as_json

        yield as_json(report)
    else:
        from flaxoptim_compat.migrate.formats.as_sarif import as_sarif
        from flaxoptim_compat.migrate.rules import rule_modules

        yield as_sarif(report, {code: each.rule for code, each in rule_modules().items()})

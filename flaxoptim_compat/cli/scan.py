"""``flaxoptim-compat scan``: where a program uses what is gone."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flaxoptim_compat.cli import program_files
from flaxoptim_compat.cli.output import print_error, print_styled, print_text

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.rules.rule import Rule
    from flaxoptim_compat.migrate.run.reports import RunReport

SUMMARY = "List where a program uses flax.optim and other removed names, and what replaces them"

# The longest paths in the command that is printed, which people copy and which is never folded.
_LONGEST_PATHS = 40

EPILOG = f"""\
examples:
  flaxoptim-compat scan .                       # what to do first
  flaxoptim-compat scan src --format concise    # a line for each finding

scan runs none of the program. It follows imports, aliases, and names that one file imports from
another. The end of the output lists the names that scan does not understand, and the files that it
cannot read.

{program_files.SETTINGS}

Exit status: 0 without findings, 1 with findings, 2 if a file could not be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the subcommand."""
    program_files.add_arguments(parser)
    parser.add_argument(
        "--format",
        choices=("text", "concise", "json", "github", "sarif"),
        default="text",
        help="text, the default: the next steps, and the findings by file, in about two screens;"
        " concise: one line for each finding; json; github: annotations of a pull request; sarif:"
        " SARIF 2.1.0, for code hosts and editors",
    )
    parser.add_argument(
        "--statistics",
        action="store_true",
        help="print the number of findings of each kind and in each file instead of the findings",
    )


def run(arguments: argparse.Namespace) -> int:
    """Read the files and print the findings; returns the exit status."""
    from flaxoptim_compat.migrate.run.settings import SettingsError

    if arguments.statistics and arguments.format != "text":
        arguments.parser.error(
            "--statistics prints text: with another --format, count its findings."
        )
    try:
        report = program_files.run_over(arguments, program_files.task_for(arguments))
    except SettingsError as error:
        print_error(error)
        return 2
    if arguments.format == "text" and not arguments.statistics:
        from flaxoptim_compat.migrate.formats.as_text import as_text

        print_styled(list(as_text(report, _rules(), _rewrite(arguments))))
    else:
        print_text("\n".join(_lines(report, arguments)))
    return report.status


def _rules() -> dict[str, Rule]:
    from flaxoptim_compat.migrate.rules import rule_modules

    return {code: each.rule for code, each in rule_modules().items()}


def _rewrite(arguments: argparse.Namespace) -> str:
    """The command that rewrites what was scanned, without ``--to``."""
    paths = shlex.join(str(each) for each in arguments.paths)
    if len(paths) > _LONGEST_PATHS:
        # As from pre-commit, which names each file.
        paths = "PATH"
    options = [
        word
        for name, values in (
            ("--select", arguments.select),
            ("--ignore", arguments.ignore),
            ("--for", arguments.versions),
        )
        if values
        for word in (name, ",".join(values))
    ]
    return " ".join(["flaxoptim-compat rewrite", paths, *map(shlex.quote, options)])


def _lines(report: RunReport, arguments: argparse.Namespace) -> Iterable[str]:
    from flaxoptim_compat.migrate.formats import as_github, as_json, as_sarif, as_text

    if arguments.statistics:
        return as_text.as_statistics(report, _rules())
    if arguments.format == "concise":
        return as_text.as_concise(report)
    if arguments.format == "github":
        return as_github.as_github(report)
    if arguments.format == "json":
        return [as_json.as_json(report)]
    return [as_sarif.as_sarif(report, _rules())]

"""The command line: which subcommands there are. Only running one imports jax."""

from __future__ import annotations

import argparse
import gc
import io
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from flaxoptim_compat.cli import (
    checkpoint,
    demo,
    environment,
    explain,
    parity,
    rewrite,
    run,
    scan,
)
from flaxoptim_compat.cli.help_text import HelpText
from flaxoptim_compat.cli.output import print_text


class Subcommand(NamedTuple):
    """A subcommand: its summary, its arguments, and the function that runs it.

    Args:
      summary: a line on what the subcommand does.
      add_arguments: adds its arguments to a parser.
      run: runs it, and returns the exit status.
    """

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


SUBCOMMANDS = {
    "run": Subcommand(run.SUMMARY, run.add_arguments, run.run),
    "scan": Subcommand(scan.SUMMARY, scan.add_arguments, scan.run),
    "rewrite": Subcommand(rewrite.SUMMARY, rewrite.add_arguments, rewrite.run),
    "explain": Subcommand(explain.SUMMARY, explain.add_arguments, explain.run),
    "checkpoint": Subcommand(checkpoint.SUMMARY, checkpoint.add_arguments, checkpoint.run),
    "parity": Subcommand(parity.SUMMARY, parity.add_arguments, parity.run),
    "enable": Subcommand(environment.ENABLE, environment.add_enable_arguments, environment.enable),
    "disable": Subcommand(
        environment.DISABLE, environment.add_disable_arguments, environment.disable
    ),
    "status": Subcommand(environment.STATUS, environment.add_status_arguments, environment.status),
    "demo": Subcommand(demo.SUMMARY, demo.add_arguments, demo.run),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status.

    Args:
      argv: the arguments; those of the process if None.
    """
    return _run(_parser().parse_args(argv))


def command() -> NoReturn:
    """Run one subcommand as a process of its own, and end it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files need be no UTF-8.
        sys.stdout.reconfigure(errors="backslashreplace")
    status = main()
    # Else the garbage collector looks for cycles among all objects before Python exits, which is a
    # fifth of the time that a large repository takes.
    gc.freeze()
    sys.exit(status)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.subcommand is None:
        _parser().print_help()
        return 2
    return SUBCOMMANDS[arguments.subcommand].run(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="flaxoptim-compat",
        description="Run flax.optim programs on today's jax, flax and optax; move them to optax.",
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="print the versions of this package and of its dependencies, for bug reports",
    )
    subparsers = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND")
    for name, subcommand in SUBCOMMANDS.items():
        summary = subcommand.summary
        subparser = subparsers.add_parser(
            name, help=summary, description=f"{summary}.", formatter_class=HelpText
        )
        subcommand.add_arguments(subparser)
    return parser


class _Version(argparse.Action):
    """Looks up the versions only once they are asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from flaxoptim_compat.cli import version

        print_text(version.text())
        parser.exit()

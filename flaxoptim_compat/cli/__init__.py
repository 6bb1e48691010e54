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
    verify,
)
from flaxoptim_compat.cli.help_text import add_command
from flaxoptim_compat.cli.output import print_error, print_text


class Subcommand(NamedTuple):
    """A subcommand: its summary, the function that runs it, and the rest of its help.

    Args:
      summary: a line on what the subcommand does.
      run: runs it, and returns the exit status.
      epilog: the end of its help.
      add_arguments: adds its arguments to a parser.
      reads_words: whether all that follows its name are words, which it reads itself.
    """

    summary: str
    run: Callable[[argparse.Namespace], int]
    epilog: str = ""
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    reads_words: bool = False


SUBCOMMANDS = {
    "run": Subcommand(run.SUMMARY, run.run, run.EPILOG, run.add_arguments),
    "scan": Subcommand(scan.SUMMARY, scan.run, scan.EPILOG, scan.add_arguments),
    "rewrite": Subcommand(rewrite.SUMMARY, rewrite.run, rewrite.EPILOG, rewrite.add_arguments),
    "verify": Subcommand(verify.SUMMARY, verify.run, verify.EPILOG, verify.add_arguments),
    "explain": Subcommand(explain.SUMMARY, explain.run, explain.EPILOG, explain.add_arguments),
    "checkpoint": Subcommand(checkpoint.SUMMARY, checkpoint.run, "", checkpoint.add_arguments),
    "parity": Subcommand(parity.SUMMARY, parity.run, "", parity.add_arguments, reads_words=True),
    "enable": Subcommand(
        environment.ENABLE, environment.enable, environment.EPILOG, environment.add_arguments
    ),
    "disable": Subcommand(environment.DISABLE, environment.disable, environment.EPILOG),
    "status": Subcommand(environment.STATUS, environment.status, environment.STATUS_EPILOG),
    "demo": Subcommand(demo.SUMMARY, demo.run, demo.EPILOG),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status.

    Args:
      argv: the arguments; those of the process if None.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if words and not words[0].startswith("-") and words[0] not in SUBCOMMANDS:
        print_error(_no_subcommand(words[0]))
        return 2
    parser = _parser()
    arguments, unknown = parser.parse_known_args(words)
    if unknown and arguments.subcommand == "run":
        run.refuse_options(arguments, unknown)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if arguments.subcommand is None:
        parser.print_help()
        return 2
    try:
        return SUBCOMMANDS[arguments.subcommand].run(arguments)
    except KeyboardInterrupt:
        print_error("stopped.")
        return 130


def _no_subcommand(word: str) -> str:
    import difflib

    if word.endswith(".py"):
        return f"{word} is no subcommand. To run the program: flaxoptim-compat run {word}"
    if near := difflib.get_close_matches(word, SUBCOMMANDS, 1):
        return f"There is no subcommand `{word}`. Did you mean `{near[0]}`?"
    return f"There is no subcommand `{word}`, only {', '.join(SUBCOMMANDS)}."


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
        # No word begins with this, so that none is an option.
        more = {"add_help": False, "prefix_chars": "\0"} if subcommand.reads_words else {}
        subparser = add_command(subparsers, name, subcommand.summary, subcommand.epilog, **more)
        subparser.set_defaults(parser=subparser)
        subcommand.add_arguments(subparser)
    return parser


class _Version(argparse.Action):
    """Looks up the versions only once they are asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from flaxoptim_compat.cli import version

        print_text(version.text())
        parser.exit()

"""``flaxoptim-compat verify``: the proof of a migration that is written already."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flaxoptim_compat.cli import proving
from flaxoptim_compat.cli.output import print_aside, print_error, print_text

SUMMARY = "Prove a migration that is written already: run the program of before and today's"

EPILOG = f"""\
examples:
  flaxoptim-compat verify 'python train.py --steps 20'
  flaxoptim-compat verify 'pytest -q' --before v1.2
  flaxoptim-compat verify 'python train.py' --before ../the_old_checkout

verify takes a migration by hand as well as one by a tool, to TrainState and optax or to this
package. Without --before, the old program is that of the last commit that imports flax.optim.

{proving.HOW}

Exit status: 0 if the numbers are the same, and the output and files too or accepted; 1 if one of
these differs; 2 if they could not be compared."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the subcommand."""
    parser.add_argument(
        "commands",
        metavar="COMMAND",
        nargs="+",
        help="a command, such as a training or the tests, in quotation marks",
    )
    parser.add_argument(
        "--before",
        metavar="REV",
        help="the old program: a revision of git, or a folder",
    )
    parser.add_argument(
        "--convert",
        metavar="COMMAND",
        help="convert the checkpoints of the old program in the copy of today's by the command that"
        " rewrite printed, with OLD and NEW as they stand there",
    )
    proving.add_arguments(parser)
    # What was moved is not known here.
    parser.set_defaults(reach_all=False)


def run(arguments: argparse.Namespace) -> int:
    """Compare the old program with today's; returns the exit status."""
    from flaxoptim_compat.observation import old_sources
    from flaxoptim_compat.observation.copies import CopyError
    from flaxoptim_compat.observation.old_checkpoints import RESTORING, convert_all
    from flaxoptim_compat.observation.proof import NotProven

    if not all(map(str.strip, arguments.commands)):
        arguments.parser.error("a command is empty: name one, such as 'python train.py'.")
    here = Path.cwd()
    try:
        before = old_sources.named(here, arguments.before)
        print_aside(f"The old program: {before.name}")
        if not before.changes:
            print_error(f"No file differs from {before.name}, so there is nothing to verify.")
            return 2
        with proving.proving(arguments, arguments.commands, []) as proof:
            proof.run_old({proof.place_of(each.path): each.content for each in before.changes})
            convert = [arguments.convert] if arguments.convert else []
            proof.run_new({}, lambda copy: list(convert_all(copy, convert)))
            said = proof.judged([each for each in before.changes if each.is_python], None)
    except (CopyError, old_sources.NoOldSourcesError) as error:
        print_error(error)
        return 2
    except NotProven as error:
        print(error.output, end="", file=sys.stderr)
        print_error(error)
        if error.is_of_new and RESTORING.search(error.output) and not arguments.convert:
            print_aside("The command found a checkpoint of the old program, which today's cannot")
            print_aside("restore: give the command that converts it with --convert.")
        return 1 if error.differs else 2
    print_text("\n".join(said))
    return 0

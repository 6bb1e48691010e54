"""``flaxoptim-compat verify``: the proof of a migration that is written already."""

from __future__ import annotations

import argparse
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from flaxoptim_compat.cli import proving
from flaxoptim_compat.cli.output import print_aside, print_error, print_text, save_report

if TYPE_CHECKING:
    from flaxoptim_compat.observation.proof import Proof

SUMMARY = "Prove a migration that is written already: run the program of before and today's"

EPILOG = f"""\
examples:
  flaxoptim-compat verify 'python train.py --steps 20'
  flaxoptim-compat verify 'pytest -q' --before v1.2 --report proof.html
  flaxoptim-compat verify 'python train.py' --before ../the_old_checkout
  flaxoptim-compat verify 'flaxoptim-compat run --random then train.py' \\
    --before then.npz

verify takes a migration by hand as well as one by a tool, to optax and TrainState, to NNX or to
this package. Without --before, the old program is that of the last commit that imports flax.optim.

{proving.HOW}

If the old program runs only on an old machine, record it there: flaxoptim-compat verify --recorder
> record.py; copy that file to the machine, and run: python record.py then.npz train.py. Another
machine rounds otherwise, so the numbers are compared within a tolerance.

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
        metavar="OLD",
        help="the old program: a revision of git, or a folder; or a file that record.py has made"
        " where the old program ran",
    )
    parser.add_argument(
        "--convert",
        metavar="COMMAND",
        help="convert the checkpoints of the old program in the copy of today's by the command that"
        " rewrite printed, with OLD and NEW as they stand there",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        help="also write the error of each array at each step to a file: .html, .json, .png, .svg"
        " or .txt; pictures need matplotlib, which the extra plot installs",
    )
    parser.add_argument(
        "--recorder",
        action=_Recorder,
        nargs=0,
        help="print record.py, one file that records the old program on a machine without this"
        " package",
    )
    proving.add_arguments(parser)
    # What was moved is not known here.
    parser.set_defaults(reach_all=False)


class _Recorder(argparse.Action):
    """Prints the file that records a program elsewhere, whatever else is given."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        file = resources.files("flaxoptim_compat.observation") / "record.py"
        print_text(file.read_text(encoding="utf-8").removesuffix("\n"), exact=True)
        parser.exit()


def run(arguments: argparse.Namespace) -> int:
    """Compare the old program with today's; returns the exit status."""
    from flaxoptim_compat.observation.copies import CopyError
    from flaxoptim_compat.observation.old_sources import NoOldSourcesError
    from flaxoptim_compat.parity.errors import ParityError
    from flaxoptim_compat.parity.report import check

    if not all(map(str.strip, arguments.commands)):
        arguments.parser.error("a command is empty: name one, such as 'python train.py'.")
    try:
        if arguments.report is not None:
            check(arguments.report)
        return _proven(arguments)
    except (CopyError, NoOldSourcesError, ParityError) as error:
        print_error(error)
        return 2


def _proven(arguments: argparse.Namespace) -> int:
    """Run the programs, and say whether the numbers are the same; returns the exit status."""
    from flaxoptim_compat.observation import record_files
    from flaxoptim_compat.observation.old_checkpoints import RESTORING, convert_all
    from flaxoptim_compat.observation.old_sources import OldSources, named
    from flaxoptim_compat.observation.proof import NotProven

    then = None
    if _is_record(arguments.before):
        if len(arguments.commands) > 1:
            arguments.parser.error("a record is that of one command: give one command.")
        then = record_files.read(Path(arguments.before))
        before = OldSources(arguments.before, [])
    else:
        before = named(Path.cwd(), arguments.before)
    print_aside(f"The old program: {before.name}")
    if then is None and not before.changes:
        print_error(f"No file differs from {before.name}, so there is nothing to verify.")
        return 2
    convert = [arguments.convert] if arguments.convert else []
    with proving.proving(arguments, arguments.commands, []) as proof:
        try:
            if then is not None:
                proof.take_old(then)
            else:
                proof.run_old({proof.place_of(each.path): each.content for each in before.changes})
            proof.run_new({}, lambda copy: list(convert_all(copy, convert)))
            said = proof.judged([each for each in before.changes if each.is_python], None)
        except NotProven as error:
            print(error.output, end="", file=sys.stderr)
            print_error(error)
            if error.is_of_new and RESTORING.search(error.output) and not convert:
                print_aside("The command found a checkpoint of the old program, which today's")
                print_aside("cannot restore: give the command that converts it with --convert.")
            status = 1 if error.differs else 2
        else:
            print_text("\n".join(said))
            status = 0
        if arguments.report is not None:
            _report(proof, before.name, arguments.report)
    return status


def _is_record(before: str | None) -> bool:
    return before is not None and before.endswith(".npz") and not Path(before).is_dir()


def _report(proof: Proof, name: str, path: Path) -> None:
    """Write the report on what was compared."""
    from flaxoptim_compat.observation.curves import report

    found = report(proof.compared, (name, "today's program"), with_moments=False)
    if found is None:
        print_aside(f"Nothing was compared step by step, so {path} was not written.")
    else:
        save_report(found, path)

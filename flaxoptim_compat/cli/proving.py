"""The common parts of ``rewrite --verify`` and ``verify``: their options, and the copies."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flaxoptim_compat.cli.output import print_aside

if TYPE_CHECKING:
    from flaxoptim_compat.observation.proof import Proof

HOW = """\
The commands run in copies of the current folder, each time with the same files: yours stay as
they are. They run as "flaxoptim-compat run" would, with all programs that they start. All steps of
all optimizers must have the same numbers before and after. What the commands print and write must
be the same too, or be accepted with --accept-output."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a proof."""
    parser.add_argument(
        "--share",
        metavar="FOLDER",
        action="append",
        default=[],
        type=Path,
        help="link this folder instead of copying it, such as data; the program may read there, and"
        " write new files; may be given several times",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        help="end a command that takes longer; nothing is proven then",
    )
    parser.add_argument(
        "--accept-output",
        action="store_true",
        help="take it for proven even where the program prints other lines or writes other files"
        " than before; the output lists them",
    )


@contextlib.contextmanager
def proving(
    arguments: argparse.Namespace, commands: Sequence[str], paths: Sequence[Path]
) -> Iterator[Proof]:
    """A proof by commands, in copies of the folder that has the current one and some paths.

    Raises:
      CopyError: the folder cannot be copied.
      JournalError: no folder has all of these paths.
    """
    from flaxoptim_compat.migrate.editing.journal import folder_of
    from flaxoptim_compat.observation.copies import Copies
    from flaxoptim_compat.observation.proof import Proof, Terms

    here = Path.cwd()
    top = folder_of([here, *paths])
    shared = [Path(os.path.relpath(os.path.abspath(each), top)) for each in arguments.share]
    directory = Path(os.path.relpath(os.path.realpath(here), top))
    terms = Terms(
        arguments.timeout, sys.stderr.isatty(), arguments.reach_all, arguments.accept_output
    )
    with Copies(top, shared) as copies:
        yield Proof(commands, copies, directory, terms, print_aside)

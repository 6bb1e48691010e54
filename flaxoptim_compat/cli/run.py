"""``flaxoptim-compat run``: an old program, unedited."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys

from flaxoptim_compat.cli import environment
from flaxoptim_compat.cli.output import print_error

SUMMARY = "Run an old program as python would, with flax.optim and other removed names back"

EPILOG = """examples:
  flaxoptim-compat run train.py --steps 100
  flaxoptim-compat run -m pytest tests
  flaxoptim-compat run --random then train.py

Write the options of the program after its name. On exit, a line on stderr says which legacy names
the program used most, and how often. Programs that it starts with the same Python run in the same
way.

Since jax 0.5 a seed gives other random numbers. "--random then" brings the older ones back, unless
the program or JAX_THREEFRY_PARTITIONABLE chooses. The environment variable
FLAXOPTIM_COMPAT_RANDOM=then does the same, also with enable."""


# Options that hardly a program has too.
_OWN = {"--observe": "--observe", "--only-optim": "--only-optim", "--random": "--random then"}
# So many legacy names stand in the line at the end.
_NAMES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the subcommand."""
    parser.usage = (
        "%(prog)s [-h] [--only-optim] [--observe] [--random then]\n"
        "                            [--quiet | --verbose]\n"
        "                            (SCRIPT | -m MODULE) [ARGS ...]"
    )
    # --only-optim is that of enable.
    environment.add_arguments(parser)
    parser.add_argument(
        "--observe",
        action="store_true",
        help="note in .flaxoptim_compat where the program uses optimizers, for rewrite --to optax",
    )
    parser.add_argument(
        "--random",
        choices=("then",),
        help="then: the random numbers that a seed gave before jax 0.5; the default is today's",
    )
    line = parser.add_mutually_exclusive_group()
    line.add_argument(
        "--quiet", action="store_true", help="do not print the line on legacy names at the end"
    )
    line.add_argument(
        "--verbose",
        action="store_true",
        help=f"name all legacy names there, not only {_NAMES}",
    )
    parser.add_argument(
        "-m",
        dest="module",
        metavar="MODULE",
        nargs=argparse.REMAINDER,
        help="run a module, as python -m does, with the arguments that follow",
    )
    parser.add_argument(
        "script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="a file, and its arguments"
    )


def refuse_options(arguments: argparse.Namespace, unknown: list[str]) -> None:
    """End with status 2, since options stand before the program that are none of ``run``."""
    words = arguments.script
    script = next((each for each in words if each.endswith(".py")), "")
    where = "Options of the program stand after its name"
    if script:
        at = words.index(script)
        command = shlex.join([script, *unknown, *words[:at], *words[at + 1 :]])
        where += f": flaxoptim-compat run {command}"
    arguments.parser.error(f"`run` has no option {', '.join(unknown)}. {where}")


def run(arguments: argparse.Namespace) -> int:
    """Run the program; returns only if it could not be started."""
    from flaxoptim_compat.legacy import installing, launching
    from flaxoptim_compat.observation import places, starting

    program = arguments.script if arguments.module is None else ["-m", *arguments.module]
    if program in ([], ["-m"]):
        arguments.parser.error("the program is missing: name a script, or a module after -m.")
    if not os.path.exists(program[0]) and shutil.which(program[0]):  # as in `run python train.py`
        arguments.parser.error(
            f"{program[0]} is a command: name a script, or a module after -m, as for python."
        )
    if program[0].endswith(".ipynb"):
        arguments.parser.error(
            f"{program[0]} is a notebook. Open it, and run `import flaxoptim_compat;"
            " flaxoptim_compat.install()` in a first cell."
        )
    named = program[:2] if program[0] == "-m" else program[:1]
    for option in filter(program[len(named) :].__contains__, _OWN):
        print_error(
            f"{named[-1]} gets the option {option}, which stands after its name. If it is for"
            f" this command: flaxoptim-compat run {_OWN[option]} {' '.join(named)}"
        )
    existing = installing.existing_flax_optim()
    if existing is not None:
        print_error(
            f"this Python has a flax.optim of its own, {existing}.\n"
            "Run the program with python, or upgrade flax to 0.12 or newer."
        )
        return 2
    if sys.flags.ignore_environment or sys.flags.no_site:
        print_error(
            "the options -E, -I and -S keep Python from serving flax.optim.\n"
            "Start flaxoptim-compat without them."
        )
        return 2
    names = None if arguments.verbose else 0 if arguments.quiet else _NAMES
    if arguments.observe:
        try:
            os.environ[starting.USES] = str(places.new_folder())
        except OSError as error:
            print_error(f"--observe keeps its notes in .flaxoptim_compat, in this folder: {error}")
            return 2
    return launching.launch(program, not arguments.only_optim, names, arguments.random)

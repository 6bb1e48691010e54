"""``flaxoptim-compat parity``: run two optimizers side by side, and say whether they part."""

from __future__ import annotations

import argparse
from pathlib import Path

from flaxoptim_compat.cli.help_text import HelpText

SUMMARY = "Run two optimizers side by side, and say whether, where and why they differ"

_SURVEY = (
    "Compare every optimizer of flax.optim with plain optax's namesake, and with this package's"
    " to_optax."
)

_USAGE = """\
%(prog)s OLD [NEW] [options]
       %(prog)s survey"""

EPILOG = """\
examples:
  flaxoptim-compat parity 'optim.RMSProp(0.01)' 'optax.rmsprop(0.01)'
  flaxoptim-compat parity 'optim.LAMB(0.01)' --steps 1000 --report lamb.html
  flaxoptim-compat parity train:make_optimizer new/train.py:make_tx \\
    --params train:init_params

OLD and NEW are expressions, which can use optim, flax, optax, transforms, jax, jnp and np; or they
are MODULE:NAME or FILE.py:NAME. A function is called without arguments. The result is a definition
of flax.optim, an Optimizer, an optax transformation, a TrainState, or a pair of functions (init,
step). The code may still import flax.optim. Without NEW, OLD is compared with the same definition
of the genuine flax.optim if it is installed, and otherwise with to_optax(OLD). Both sides get the
same made-up gradients.

survey compares every optimizer of flax.optim with its namesake in optax, and with to_optax.

To compare with a run of your own program on an old machine: flaxoptim-compat verify --help

Exit status: 0 if the two sides are equal, 1 if they differ, 2 if one of them fails."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the words of a form, which a parser of its own reads."""
    parser.add_argument("words", nargs=argparse.REMAINDER)


def run(arguments: argparse.Namespace) -> int:
    """Run the form that the words begin with, or compare two sides; returns the exit status."""
    prog: str = arguments.parser.prog
    words: list[str] = arguments.words
    form = words.pop(0) if words[:1] == ["survey"] else "compare"
    given = parser_of(form, prog).parse_args(words)
    from flaxoptim_compat.cli import parity_runs

    return parity_runs.run(form, given)


def parser_of(form: str, prog: str) -> argparse.ArgumentParser:
    """The parser of the words of a form, ``compare`` or ``survey``, behind its name.

    Args:
      form: the form.
      prog: what the command is called, without the form.
    """
    if form == "survey":
        return argparse.ArgumentParser(f"{prog} survey", description=_SURVEY)
    parser = argparse.ArgumentParser(prog, _USAGE, f"{SUMMARY}.", EPILOG, formatter_class=HelpText)
    parser.add_argument("old", metavar="OLD", help=argparse.SUPPRESS)
    # As nargs="?" it could not stand behind an option that follows OLD.
    parser.add_argument("new", metavar="NEW", help=argparse.SUPPRESS).required = False
    parser.add_argument(
        "--params",
        metavar="P",
        help="the parameters to start from: named like OLD, or a checkpoint; the default is some"
        " small arrays",
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=_whole_number,
        help="the number of steps, default 100",
    )
    parser.add_argument(
        "--tolerance",
        metavar="X",
        type=_tolerance,
        help="the allowed difference, as a part of the distance travelled; 0 demands the same bits;"
        " the default allows for rounding",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        help="also write the report to a file: .html, .json, .png, .svg or .txt; pictures need"
        " matplotlib, which the extra plot installs",
    )
    return parser


def _whole_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a whole number from 1 up: {text!r}")
    return int(text)


def _tolerance(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"not a number from 0 up: {text!r}")
    return number

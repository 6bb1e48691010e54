"""``flaxoptim-compat parity``: run two optimizers side by side, and say whether they part."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from flaxoptim_compat.cli.help_text import HelpText

SUMMARY = "Run two optimizers side by side, and say whether, where and why they differ"

RECORDER = Path(__file__).parents[1] / "parity" / "recordings" / "recorder.py"

_SURVEY = (
    "Compare every optimizer of flax.optim with plain optax's namesake, and with this package's"
    " to_optax."
)
_REPLAY = "Give the gradients of a recording to an optimizer, and compare the results."

_USAGE = """\
%(prog)s OLD [NEW] [options]
       %(prog)s record OUT.npz PROGRAM:STEP [--steps N]
       %(prog)s replay OUT.npz NEW [options]
       %(prog)s survey"""

EPILOG = f"""\
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

Compare with a run of your own program on an old machine:
  record  writes parameters, gradients and moments of N updates to OUT.npz. If
          the machine does not have this package, copy one file there; it needs
          jax and numpy only:
            {RECORDER}
            python recorder.py OUT.npz train.py:train_step --steps 20
  replay  gives the gradients of OUT.npz to NEW, and compares the results.

survey compares every optimizer of flax.optim with its namesake in optax, and with to_optax.

Each form has its own help: flaxoptim-compat parity record --help

Exit status: 0 if the two sides are equal, 1 if they differ, 2 if one of them fails."""

_OPTIONS = ("params", "steps", "tolerance", "report")
# The options that a form does not take, or takes only after its name.
_REFUSED = {"record": _OPTIONS, "replay": ("params",), "survey": _OPTIONS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options, and the words that follow them."""
    parser.usage = _USAGE
    _add_options(parser)
    # `--all` needs no words, and the usage shows the others.
    parser.add_argument("words", nargs=argparse.PARSER, help=argparse.SUPPRESS).required = False


def _add_options(parser: argparse.ArgumentParser, is_replay: bool = False) -> None:
    if not is_replay:
        parser.add_argument(
            "--params",
            metavar="P",
            help="the parameters to start from: named like OLD, or a checkpoint or a recording; the"
            " default is some small arrays",
        )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=_whole_number,
        help=f"the number of steps, default {'all of the recording' if is_replay else '100'}",
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
    if not is_replay:
        parser.add_argument("--all", action="store_true", help="the same as survey")


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


def run(arguments: argparse.Namespace) -> int:
    """Run the form that the words begin with, or compare two sides; returns the exit status."""
    parser = arguments.parser
    words = arguments.words or ["survey"] * arguments.all
    if not words:
        parser.error("the following arguments are required: OLD")
    form = "compare"
    if words[0] in _REFUSED:
        form, *words = words
    if form != "record":
        _read(form, words, arguments)
    if arguments.all and form != "survey":
        parser.error(f"{arguments.words[0]} has no place beside --all: see --help.")
    refused = [each for each in _REFUSED.get(form, ()) if getattr(arguments, each) is not None]
    if refused:
        place = "has no place beside --all or survey"
        place = place if form == "survey" else f"comes after {form}, if at all"
        parser.error(f"{' '.join(f'--{each}' for each in refused)} {place}: see --help.")
    if form == "record":
        return _record(words, f"{parser.prog} record")
    from flaxoptim_compat.cli import parity_runs

    return parity_runs.run(form, arguments)


def _read(form: str, words: Sequence[str], arguments: argparse.Namespace) -> None:
    """Read the words of a form into the arguments, beside the options before the form."""
    parser = argparse.ArgumentParser(prog=arguments.parser.prog, formatter_class=HelpText)
    if form == "compare":
        parser.usage, parser.epilog = _USAGE, EPILOG
        parser.description = arguments.parser.description
        _add_options(parser)
        parser.add_argument("old", metavar="OLD", help=argparse.SUPPRESS)
        # As nargs="?" it could not stand behind an option that follows OLD.
        parser.add_argument("new", metavar="NEW", help=argparse.SUPPRESS).required = False
    elif form == "replay":
        parser.prog, parser.description = f"{parser.prog} replay", _REPLAY
        parser.add_argument(
            "recording", metavar="OUT.npz", type=Path, help="what record has written"
        )
        parser.add_argument(
            "new",
            metavar="NEW",
            help="an expression, MODULE:NAME or FILE.py:NAME, as without replay",
        )
        _add_options(parser, is_replay=True)
    else:
        parser.prog, parser.description = f"{parser.prog} survey", _SURVEY
    parser.parse_args(words, arguments)


def _record(words: Sequence[str], prog: str) -> int:
    from flaxoptim_compat.legacy.named_code import NamedCode
    from flaxoptim_compat.parity.recordings import recorder

    with NamedCode():
        return recorder.main(words, prog)

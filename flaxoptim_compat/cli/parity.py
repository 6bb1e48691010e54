"""``flaxoptim-compat parity``: run two optimizers side by side, and say whether they part."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

SUMMARY = "Run two optimizers side by side, and say whether, where and why they part"

RECORDER = Path(__file__).parents[1] / "parity" / "recordings" / "recorder.py"

_USAGE = """\
%(prog)s [--params P] [--steps N] [--tolerance X] [--report FILE] OLD [NEW]
       %(prog)s record OUT.npz PROGRAM:STEP [--steps N]
       %(prog)s replay OUT.npz NEW [--steps N] [--tolerance X] [--report FILE]
       %(prog)s --all"""

_EPILOG = f"""\
examples:
  flaxoptim-compat parity 'optim.RMSProp(0.01)' 'optax.rmsprop(0.01)'
  flaxoptim-compat parity train:make_optimizer new/train.py:make_tx --params train:init_params
  flaxoptim-compat parity 'optim.LAMB(0.01, weight_decay=0.1)' --steps 1000 --report lamb.html

OLD and NEW are each an expression, in which there are optim, flax, optax, transforms, jax, jnp and
np; or MODULE:NAME, or FILE.py:NAME. What is named so is called without arguments, if it can be
called, and gives a definition of flax.optim, an Optimizer, an optax transformation, a TrainState,
or a pair of functions (init, step). It may still import flax.optim. With only OLD, NEW is the same
definition of the genuine flax.optim where there is one beside this package, or else
to_optax(OLD). The gradients are made up, and the same for both sides.

A run of your own program on an old machine:
  record  writes parameters, gradients and moments of N updates to OUT.npz. On a machine
          without this package, copy one file there, which needs jax and numpy only:
            {RECORDER}
            python recorder.py OUT.npz train.py:train_step --steps 20
  replay  gives the gradients of OUT.npz to NEW, and compares the results.

Each is explained by --help after its name: flaxoptim-compat parity record --help

Exit status: 0 if the two sides are equal, 1 if they part, 2 if they could not be run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options, and that the words after them are parsed later."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = _USAGE
    parser.epilog = _EPILOG
    _add_options(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help="every optimizer of flax.optim against plain optax's namesake, and against ours",
    )
    # The first word decides which form it is, so all words wait until it is known.
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(parser=parser)


def _add_options(parser: argparse.ArgumentParser, params: bool = True) -> None:
    if params:
        parser.add_argument(
            "--params",
            metavar="P",
            help="the parameters to start from: named as a side is, or a checkpoint or a recording;"
            " some small arrays if not given",
        )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=_whole_number,
        help="how many steps to do, default "
        + ("100" if params else "as many as there are in the recording"),
    )
    parser.add_argument(
        "--tolerance",
        metavar="X",
        type=_tolerance,
        help="how far apart the two may be, in parts of the distance travelled; 0 demands every"
        " bit; rounding is allowed for if not given",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        help="also write the report to a file: .html, .json, .png, .svg or .txt",
    )


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
    """Run the form that the first word says; the exit status."""
    words = arguments.words
    try:
        if arguments.all:
            _refuse(arguments, "--all", words, "params", "steps", "tolerance", "report")
            return _all()
        if words[:1] == ["record"]:
            _refuse(arguments, "record", [], "params", "steps", "tolerance", "report")
            return _record(words[1:], f"{arguments.parser.prog} record")
        if words[:1] == ["replay"]:
            _refuse(arguments, "replay", [], "params")
            return _replay(words[1:], arguments)
        return _compare(words, arguments)
    except KeyboardInterrupt:
        print("flaxoptim-compat: interrupted.", file=sys.stderr)
        return 130


def _refuse(arguments: argparse.Namespace, form: str, words: Sequence[str], *options: str) -> None:
    """End with an error if there are words or options that a form does not take, or not there."""
    given = [f"--{option}" for option in options if getattr(arguments, option) is not None]
    if words or given:
        place = f"comes after {form}, if at all" if form != "--all" else "has no place beside --all"
        arguments.parser.error(f"{' '.join([*words, *given])} {place}: see --help.")


def _compare(words: Sequence[str], arguments: argparse.Namespace) -> int:
    if not {"-h", "--help"}.isdisjoint(words):
        arguments.parser.print_help()
        return 0
    parser = argparse.ArgumentParser(prog=arguments.parser.prog, usage=_USAGE, add_help=False)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW", nargs="?")
    _add_options(parser)
    parsed = parser.parse_intermixed_args(words, arguments)
    from flaxoptim_compat.cli import parity_runs

    return parity_runs.compare_named(parsed)


def _replay(words: Sequence[str], arguments: argparse.Namespace) -> int:
    parser = argparse.ArgumentParser(
        prog=f"{arguments.parser.prog} replay",
        description="Give the gradients of a recording to an optimizer, and compare the results.",
    )
    parser.add_argument("recording", metavar="OUT.npz", type=Path, help="what record has written")
    parser.add_argument(
        "new", metavar="NEW", help="an expression, MODULE:NAME or FILE.py:NAME, as without replay"
    )
    _add_options(parser, params=False)
    parsed = parser.parse_intermixed_args(words, arguments)
    from flaxoptim_compat.cli import parity_runs

    return parity_runs.replay(parsed)


def _record(words: Sequence[str], prog: str) -> int:
    from flaxoptim_compat.legacy.named_code import NamedCode
    from flaxoptim_compat.parity.recordings import recorder

    with NamedCode():
        return recorder.main(words, prog)


def _all() -> int:
    from flaxoptim_compat.cli import parity_runs

    return parity_runs.survey()

"""``flaxoptim-compat checkpoint``: what a checkpoint holds, and the way between its forms."""

from __future__ import annotations

import argparse
from pathlib import Path

from flaxoptim_compat.cli.help_text import add_command
from flaxoptim_compat.cli.output import print_error, print_text
from flaxoptim_compat.printable import one_line

SUMMARY = "Show what a checkpoint holds, or convert the optimizers in it"

_INSPECT = "Show the optimizers, parameters and other entries of a checkpoint"
_CONVERT = "Convert optimizers between flax.optim, TrainState and NNX, with moments and step"
# The length of the longest error message, in characters.
_LONGEST = 800
_PATH = "a msgpack or npz file, an orbax directory, or a directory of checkpoints: the newest"

_EPILOG = """\
examples:
  flaxoptim-compat checkpoint inspect runs
  flaxoptim-compat checkpoint convert runs new_runs --to train-state \\
    --definition 'optim.Adam(1e-3)' --rate fixed
  flaxoptim-compat checkpoint convert old new --to legacy --definition train:tx
  flaxoptim-compat checkpoint convert old new --to nnx --paths Dense_0=hidden

convert finds optimizers anywhere in the file, and copies all other entries as they are. SOURCE is
never changed, and DESTINATION appears when it is complete. See migration_guide/checkpoints.md.

Exit status: 0 if DESTINATION was written, 2 if not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two commands and their options."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    inspect = add_command(commands, "inspect", _INSPECT)
    inspect.add_argument("path", metavar="PATH", type=Path, help=_PATH)
    convert = add_command(commands, "convert", _CONVERT, _EPILOG)
    convert.add_argument("source", metavar="SOURCE", type=Path, help=_PATH)
    convert.add_argument(
        "destination",
        metavar="DESTINATION",
        type=Path,
        help="the checkpoint to write, or an existing folder for it; of a folder of checkpoints,"
        " the folder for those with the same names",
    )
    convert.add_argument(
        "--all",
        action="store_true",
        help="convert all checkpoints of a folder, into a new one; without it, only the newest",
    )
    convert.add_argument(
        "--to",
        choices=("train-state", "nnx", "legacy"),
        required=True,
        help="train-state: flax's TrainState with optax; nnx: the parameters of an NNX model and"
        " its nnx.Optimizer; legacy: the Optimizer of flax.optim",
    )
    convert.add_argument(
        "--format",
        choices=("msgpack", "orbax"),
        help="the format of DESTINATION; the default is that of SOURCE, and msgpack for npz",
    )
    convert.add_argument(
        "--optimizer",
        metavar="NAME",
        help="the name of the optimizer, if several have its fields",
    )
    convert.add_argument(
        "--definition",
        metavar="DEFINITION",
        help="the legacy definition, or the optax transformation of the new program, or a dict of"
        " such by the paths of the optimizers: an expression, or MODULE:NAME or FILE.py:NAME of it"
        " or of a function that returns it, which is run; MODULE is searched in the current"
        " directory first",
    )
    convert.add_argument(
        "--rate",
        choices=("settable", "fixed", "scheduled"),
        default="settable",
        help="where the new program has its learning rate. settable, the default: in"
        " opt_state.hyperparams, by optax.inject_hyperparams, as to_train_state() makes it; fixed:"
        " a number, as in optax.adam(0.001); scheduled: a function of the step",
    )
    convert.add_argument(
        "--fits",
        metavar="MODULE:NAME",
        help="the state that the new program restores into, or a function that returns it, which is"
        " run; if the result does not fit it, nothing is written",
    )
    convert.add_argument(
        "--like",
        metavar="MODULE:NAME",
        help="today's parameters, or what jax.eval_shape returns of them, or a dict of such by the"
        " paths of the optimizers, or a function that returns it: DESTINATION has its shapes, where"
        " axes of size one differ, as in Linen's GroupNorm of Flax 0.3.5",
    )
    convert.add_argument(
        "--paths",
        metavar="OLD=NEW",
        nargs="+",
        type=_renaming,
        help="from or to nnx: where paths of parameters begin in SOURCE, and what stands there in"
        " DESTINATION, such as Dense_0=hidden",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run ``inspect`` or ``convert``; returns the exit status, 2 on an error."""
    from flaxoptim_compat.checkpoint_contents.array_table import shortened
    from flaxoptim_compat.checkpoint_files.stored import CheckpointError

    try:
        return _inspect(arguments) if arguments.command == "inspect" else _convert(arguments)
    except CheckpointError as error:
        # The message quotes keys of the checkpoint, which may be long and have line breaks.
        print_error(shortened(one_line(str(error)), _LONGEST))
    except (MemoryError, RecursionError) as error:
        path = arguments.path if arguments.command == "inspect" else arguments.source
        is_large = isinstance(error, MemoryError)
        problem = "does not fit into memory" if is_large else "is nested too deeply for Python"
        print_error(
            f"{one_line(path)} {problem}, which is rare for a checkpoint. Check that the path is"
            f" right{', or use a larger machine' if is_large else ''}. Nothing was written."
        )
    return 2


def _inspect(arguments: argparse.Namespace) -> int:
    from flaxoptim_compat.checkpoint_contents.summary import summary
    from flaxoptim_compat.checkpoint_files import open_checkpoint

    with open_checkpoint(arguments.path) as checkpoint:
        text = summary(checkpoint)
    print_text(text)
    return 0


def _convert(arguments: argparse.Namespace) -> int:
    from flaxoptim_compat.checkpoint_conversion.between_files import convert_checkpoint
    from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings
    from flaxoptim_compat.checkpoint_conversion.folders import conversions
    from flaxoptim_compat.cli import convert_arguments
    from flaxoptim_compat.cli.progress import Progress

    fits = convert_arguments.object_named("--fits", arguments.fits)
    settings = ConversionSettings(
        arguments.to,
        name=arguments.optimizer,
        definitions=convert_arguments.definitions_named(arguments.definition),
        paths=dict(arguments.paths) if arguments.paths else None,
        rate=arguments.rate,
        like=convert_arguments.parameters_named(arguments.like),
    )
    found = conversions(arguments.source, arguments.destination, arguments.all)
    reports = []
    with found as several, Progress("bytes") as progress:
        for each in several:
            report = convert_checkpoint(
                each.source,
                each.destination,
                settings,
                format_=arguments.format,
                fits=fits,
                shown=str(each.shown),
                progress=progress,
            )
            newest = f", the newest of {each.of:,}; --all takes each" if each.of > 1 else ""
            reports.append(f"{each.source}{newest}\n{report}" if several[1:] or newest else report)
    print_text("\n\n".join(reports))
    return 0


def _renaming(text: str) -> tuple[str, str]:
    old, separator, new = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not OLD=NEW, such as Dense_0=hidden")
    return old, new

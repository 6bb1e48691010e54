"""``flaxoptim-compat demo``: a legacy training run beside one that leaves flax.optim halfway."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

SUMMARY = "Train a small model with a legacy optimizer, and again with a switch to optax halfway"

_ROWS = 8
_COLUMNS = ("step", "rate", "loss, run 1", "loss, run 2", "largest difference", "in ulp")
_NEXT = """\
In your own program, first change the import:

  from flaxoptim_compat import optim  # was: from flax import optim

Then, where the program is to go on without flax.optim:

  state = optimizer.to_train_state(apply_fn=model.apply)

and from there on, at each step:

  state.opt_state.hyperparams["learning_rate"] = rate  # if it changes
  state = state.apply_gradients(grads=grads)"""

_EPILOG = """\
examples:
  flaxoptim-compat demo
  flaxoptim-compat demo --steps 1000 --seed 1

It takes some seconds, writes nothing, and ends with the lines that do the same in
your own program.

Exit status: 0 if the two runs agree, 1 if they do not."""


class Row(NamedTuple):
    """The two runs compared after one step."""

    step: int
    rate: float
    loss: float
    other_loss: float
    difference: float
    ulps: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "--steps",
        type=_whole_number(1, 100_000),
        default=200,
        help="steps of each run, default %(default)s",
    )
    parser.add_argument(
        "--seed",
        type=_whole_number(0, 2**32 - 1),
        default=0,
        help="of the data and the model, default %(default)s",
    )


def _whole_number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"not a whole number from {least} to {most}: {text!r}")
        return int(text)

    return parse


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison; 0 if the two runs agree, else 1."""
    steps, switch = arguments.steps, arguments.steps // 2
    print(_introduction(steps, switch))
    rows = _compare(arguments.seed, steps, switch)
    print(table(rows, switch), end="\n\n")
    worst = max(rows, key=lambda row: row.ulps)
    bound = agreement_bound(steps - switch)
    print(verdict(worst, bound), _NEXT, sep="\n\n")
    return 0 if worst.ulps <= bound else 1


def _introduction(steps: int, switch: int) -> str:
    # Here, as every subcommand would pay for importing it.
    from importlib.metadata import version

    import jax

    versions = ", ".join(f"{name} {version(name)}" for name in ("jax", "flax", "optax"))
    return (
        f"Running on {jax.default_backend()} with {versions}.\n"
        "\n"
        "Two runs of the same training, a small network that tells two spirals apart:\n"
        f"  run 1: {steps} steps with the legacy optim.Adam\n"
        f"  run 2: {switch} steps with it, {steps - switch} with the TrainState it turns into\n"
    )


def _compare(seed: int, steps: int, switch: int) -> list[Row]:
    from flaxoptim_compat.cli import progress, training

    shown = {math.ceil(steps * row / _ROWS) for row in range(1, _ROWS + 1)}
    runs = zip(
        training.trained(seed, steps, switch=steps),
        training.trained(seed, steps, switch),
        strict=True,
    )
    rows = []
    with progress.Progress(progress.steps) as tell:
        for step, (mine, other) in enumerate(runs, start=1):
            tell(step, steps)
            if step in shown:
                rate = training.rate(step - 1, steps)
                distance = training.distance(mine.params, other.params)
                rows.append(Row(step, rate, float(mine.loss), float(other.loss), *distance))
    return rows


def agreement_bound(steps: int) -> float:
    """How far apart two runs may be after so many steps done by different code.

    Moving every parameter by one unit in the last place at each step, up or down at random, makes
    this training end about 3·√steps units away. A wrong formula ends thousands of units away.
    """
    return 8 * math.sqrt(steps)


def table(rows: list[Row], switch: int) -> str:
    """The rows below their headings, with a line at the step where run 2 changes."""
    from flaxoptim_compat.columns import in_columns

    cells = [
        (
            str(row.step),
            f"{row.rate:.5f}",
            f"{row.loss:.6f}",
            f"{row.other_loss:.6f}",
            f"{row.difference:.3g}",
            f"{row.ulps:.3g}",
        )
        for row in rows
    ]
    lines = in_columns([_COLUMNS, *cells], right=range(len(_COLUMNS)), gap="   ")
    change = f"after step {switch}, run 2 goes on with optax "
    before = sum(row.step <= switch for row in rows)
    lines.insert(1 + before, change.ljust(len(lines[0]), "-"))
    return "\n".join(lines)


def verdict(worst: Row, bound: float) -> str:
    """What was found, in a sentence or two."""
    unit = "ulp: units in the last place of the largest value in the same array."
    if worst.ulps == 0:
        found = "In every row all parameters of the two runs are equal, bit for bit."
    elif worst.ulps <= bound:
        found = (
            f"The two runs agree: parameters differ by {worst.ulps:.3g} ulp at most, and"
            f" {bound:.3g}\nare allowed, since each step may round differently."
        )
    else:
        found = (
            f"The two runs do NOT agree: at step {worst.step} parameters differ by"
            f" {worst.ulps:.3g} ulp,\nand {bound:.3g} are allowed."
        )
    return f"{unit}\n{found}"

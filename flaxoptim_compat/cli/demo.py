"""``flaxoptim-compat demo``: an old program goes all the way to optax, in sight."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flaxoptim_compat.cli.output import print_error, print_styled, print_text

if TYPE_CHECKING:
    import subprocess

    from numpy.typing import NDArray

SUMMARY = "Take an old program from flax.optim to optax, step by step, in ./flaxoptim_demo"

PROGRAM = Path(__file__).with_name("demo_program.txt")
_FOLDER = Path("flaxoptim_demo")

EPILOG = """\
demo copies a small classifier of 2021 there. The classifier fails with today's Flax, runs unedited,
is rewritten for optax, and continues with plain Python from the checkpoint of the old run. demo
prints each command as you would type it, takes less than a minute, downloads nothing, and writes
nowhere else.

examples:
  flaxoptim-compat demo

Exit status: 0 if both runs end on the same bits, 1 if they do not or a command fails, 2 if the
folder flaxoptim_demo is not empty or cannot be written."""

_BEGINNING = """\
flaxoptim_demo/train.py is a small classifier of 2021. It trains for 400 steps,
on digits that it makes up. train_2021.py beside it is a copy, which will stay.
Everything here runs on the CPU, as with JAX_PLATFORMS=cpu."""

_NOT_ON_THE_PATH = """
`python` stands for {python} here,
and `flaxoptim-compat` for the same with -m flaxoptim_compat."""

# The paths in the command that rewrite prints, and those of the demo.
_TO_FILL_IN = " OLD NEW "
_FILLED_IN = " old_run new_run "

_NEXT = """
For your own program:

  flaxoptim-compat run train.py             # runs it, unedited
  flaxoptim-compat rewrite . --to optax     # shows what would change
  flaxoptim-compat rewrite . --to optax --write --verify 'python train.py'"""


class _Failure(Exception):
    """A command of the demo ended with another exit status than it should."""


def run(arguments: argparse.Namespace) -> int:
    """Run all steps of the demo; returns 0 if both runs end on the same bits."""
    from flaxoptim_compat.atomic import appearing_file

    try:
        if _FOLDER.exists() and any(_FOLDER.iterdir()):
            print_error(
                f"The folder {_FOLDER} is not empty: remove it, or start in another folder."
            )
            return 2
        _FOLDER.mkdir(exist_ok=True)
        for name in ("train.py", "train_2021.py"):
            with appearing_file(_FOLDER / name) as file:
                file.write(PROGRAM.read_bytes())
        is_same = _run_all()
    except OSError as error:
        print_error(
            f"The folder {_FOLDER} cannot be written: {error.strerror}. Start the demo in a folder"
            " of your own."
        )
        return 2
    except _Failure as failure:
        print_error(failure)
        return 1
    except KeyboardInterrupt:
        print_error(f"stopped. Remove the folder {_FOLDER} before you start again.")
        return 130
    print_text(_NEXT)
    return 0 if is_same else 1


def _run_all() -> bool:
    """Run the commands one after the other; returns whether both runs end on the same bits."""
    print_text(_BEGINNING)
    typed = shutil.which("flaxoptim-compat") or ""
    if Path(typed).parent != Path(sys.executable).parent:
        print_text(_NOT_ON_THE_PATH.format(python=sys.executable))

    _head("1. Today's Flax has no flax.optim, so the program fails")
    _show(f"cd {_FOLDER}")
    print_text(_run("python train.py", status=1).stderr.rstrip())

    _head("2. Unedited, it runs, and saves a checkpoint half way")
    done = _run("flaxoptim-compat run train.py --workdir old_run")
    print_text("[The warnings are left out: each says what to write today.]")
    print_text(done.stderr.splitlines()[-1])

    _head("3. Rewritten, it has a TrainState and optax in place of flax.optim")
    _run("flaxoptim-compat rewrite train.py --to optax", status=1)
    done = _run("flaxoptim-compat rewrite train.py --to optax --write", is_kept=True)
    print_text(done.stdout.rstrip())
    (convert,) = (line for line in done.stdout.splitlines() if _TO_FILL_IN in line)

    _head("4. The old checkpoint becomes one of the new program, with moments and step")
    done = _run(convert.replace(_TO_FILL_IN, _FILLED_IN), is_kept=True)
    # How to restore it is what the program does anyway.
    print_text(done.stdout.partition("\n\n")[0])

    _head("5. The new program goes on from there, with plain Python")
    _run("python train.py --workdir new_run")

    _head("6. Both runs compared")
    return compare()


def _head(text: str) -> None:
    print_styled([("", ""), (text, "bold"), ("", "")])


def _show(command: str) -> None:
    print_styled([(f"$ {command}", "bold cyan")])


def _run(command: str, status: int = 0, is_kept: bool = False) -> subprocess.CompletedProcess[str]:
    """Show a command and run it, as a user would, in the folder of the demo.

    Args:
      command: its text.
      status: the exit status that the command is to have.
      is_kept: whether to return the output; else the user sees it at once.

    Raises:
      _Failure: the command has another exit status.
    """
    import subprocess

    from flaxoptim_compat.legacy import launching

    _show(command)
    program, *arguments = shlex.split(command)
    path = launching.search_path(os.environ)
    module = ["-m", "flaxoptim_compat"] if program == "flaxoptim-compat" else []
    done = subprocess.run(
        [sys.executable, *module, *arguments],
        cwd=_FOLDER,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path},
        stdout=subprocess.PIPE if is_kept else None,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != status:
        print_text(done.stderr)
        raise _Failure(
            f"The command ended with exit status {done.returncode} instead of {status}. Run"
            " flaxoptim-compat status, which names conflicts."
        )
    return done


def compare() -> bool:
    """Print which bits are equal, and draw the losses; returns whether all are equal."""
    import numpy as np

    runs = [_FOLDER / name for name in ("old_run", "new_run")]
    old, new = (np.load(each / "losses.npy") for each in runs)
    old_params, new_params = ((each / "params.msgpack").read_bytes() for each in runs)
    start, end = len(old) - len(new), len(old)
    equal = {
        f"The losses of steps {start + 1} to {end}": old[start:].tobytes() == new.tobytes(),
        f"The parameters after step {end}": old_params == new_params,
    }
    for name, is_equal in equal.items():
        print_text(f"{name} are {'equal' if is_equal else 'NOT equal'}, bit for bit.")
    if _draw(old, new, start):
        print_text(f"Both curves are in {_FOLDER}/losses.png.")
    else:
        print_text("After pip install matplotlib, the demo draws both curves too.")
    return all(equal.values())


def _draw(old: NDArray[Any], new: NDArray[Any], start: int) -> bool:
    """Draw the losses of both runs; returns False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    from flaxoptim_compat.atomic import appearing_file

    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(old, color="#56b4e9", linewidth=6, alpha=0.5, label="the old program, unedited")
    steps = range(start, len(old))
    axes.plot(steps, new, color="black", linewidth=1, label="the new one, from the checkpoint")
    axes.set(xlabel="step", ylabel="loss")
    axes.spines[["right", "top"]].set_visible(False)
    axes.legend(frameon=False)
    with appearing_file(_FOLDER / "losses.png") as file:
        figure.savefig(file, format="png", dpi=150)
    return True

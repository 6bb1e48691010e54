"""The commands of the demo, one after the other, and how the two runs compare."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flaxoptim_compat.atomic import appearing_file
from flaxoptim_compat.cli.output import print_styled, print_text
from flaxoptim_compat.legacy import launching

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROGRAM = Path(__file__).with_name("demo_program.txt")

_BEGINNING = """\
flaxoptim_demo/train.py is a small classifier of 2021. It trains for 400 steps,
on digits that it makes up. train_2021.py beside it is a copy, which will stay.
Everything here runs on the CPU, as with JAX_PLATFORMS=cpu."""

_NOT_ON_THE_PATH = """
`python` stands for {python} here,
and `flaxoptim-compat` for the same with -m flaxoptim_compat."""

# The paths in the command that rewrite prints, and those of the demo.
_TO_FILL_IN = " OLD NEW "
_FILLED_IN = " old_run new_run/checkpoint_200 "


class Failure(Exception):
    """A command of the demo ended with another exit status than it should."""


def prepare(folder: Path) -> None:
    """Write the program of the demo into a folder, and a copy that stays as it is.

    Raises:
      OSError: the folder cannot be written.
    """
    folder.mkdir(exist_ok=True)
    for name in ("train.py", "train_2021.py"):
        with appearing_file(folder / name) as file:
            file.write(PROGRAM.read_bytes())


def run_all(folder: Path) -> bool:
    """Run the commands one after the other; returns whether both runs end on the same bits."""
    print_text(_BEGINNING)
    typed = shutil.which("flaxoptim-compat") or ""
    if Path(typed).parent != Path(sys.executable).parent:
        print_text(_NOT_ON_THE_PATH.format(python=sys.executable))

    _head("1. Today's Flax has no flax.optim, so the program fails")
    _show(f"cd {folder}")
    print_text(_run(folder, "python train.py", status=1).stderr.rstrip())

    _head("2. Unedited, it runs, and saves a checkpoint half way")
    done = _run(folder, "flaxoptim-compat run train.py --workdir old_run")
    print_text("[The warnings are left out: each says what to write today.]")
    print_text(done.stderr.splitlines()[-1])

    _head("3. Rewritten, it has a TrainState and optax in place of flax.optim")
    _run(folder, "flaxoptim-compat rewrite train.py --to optax", status=1)
    done = _run(
        folder,
        "flaxoptim-compat rewrite train.py --to optax --write",
        status=1,
        stdout=subprocess.PIPE,
    )
    print_text(done.stdout.rstrip())
    (convert,) = (line for line in done.stdout.splitlines() if _TO_FILL_IN in line)

    _head("4. The old checkpoint becomes one of the new program, with moments and step")
    _show("mkdir new_run")
    (folder / "new_run").mkdir()
    done = _run(folder, convert.replace(_TO_FILL_IN, _FILLED_IN), stdout=subprocess.PIPE)
    # How to restore it is what the program does anyway.
    print_text(done.stdout.partition("\n\n")[0])

    _head("5. The new program goes on from there, with plain Python")
    _run(folder, "python train.py --workdir new_run")

    _head("6. Both runs compared")
    return compare(folder)


def _head(text: str) -> None:
    print_styled([("", ""), (text, "bold"), ("", "")])


def _show(command: str) -> None:
    print_styled([(f"$ {command}", "bold cyan")])


def _run(
    folder: Path, command: str, status: int = 0, stdout: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Show a command and run it, as a user would.

    Args:
      folder: the folder of the demo, in which the command runs.
      command: its text.
      status: the exit status that the command is to have.
      stdout: as for ``subprocess.run``; with None the user sees the output at once.

    Raises:
      Failure: the command has another exit status.
    """
    _show(command)
    program, *arguments = shlex.split(command)
    path = launching.search_path(os.environ)
    module = ["-m", "flaxoptim_compat"] if program == "flaxoptim-compat" else []
    done = subprocess.run(
        [sys.executable, *module, *arguments],
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != status:
        print_text(done.stderr)
        raise Failure(
            f"The command ended with exit status {done.returncode} instead of {status}. Run"
            " flaxoptim-compat status, which names conflicts."
        )
    return done


def compare(folder: Path) -> bool:
    """Print which bits are equal, and draw the losses; returns whether all are equal."""
    import numpy as np

    runs = [folder / name for name in ("old_run", "new_run")]
    old, new = (np.load(each / "losses.npy") for each in runs)
    old_params, new_params = ((each / "params.msgpack").read_bytes() for each in runs)
    start, end = len(old) - len(new), len(old)
    equal = {
        f"The losses of steps {start + 1} to {end}": old[start:].tobytes() == new.tobytes(),
        f"The parameters after step {end}": old_params == new_params,
    }
    for name, is_equal in equal.items():
        print_text(f"{name} are {'equal' if is_equal else 'NOT equal'}, bit for bit.")
    if _draw(folder, old, new, start):
        print_text(f"Both curves are in {folder}/losses.png.")
    else:
        print_text("After pip install matplotlib, the demo draws both curves too.")
    return all(equal.values())


def _draw(folder: Path, old: NDArray[Any], new: NDArray[Any], start: int) -> bool:
    """Draw the losses of both runs; returns False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(old, color="#56b4e9", linewidth=6, alpha=0.5, label="the old program, unedited")
    steps = range(start, len(old))
    axes.plot(steps, new, color="black", linewidth=1, label="the new one, from the checkpoint")
    axes.set(xlabel="step", ylabel="loss")
    axes.spines[["right", "top"]].set_visible(False)
    axes.legend(frameon=False)
    with appearing_file(folder / "losses.png") as file:
        figure.savefig(file, format="png", dpi=150)
    return True

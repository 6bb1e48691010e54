"""``flaxoptim-compat demo``: an old program goes all the way to optax, in sight."""

from __future__ import annotations

import argparse
from pathlib import Path

from flaxoptim_compat.cli.output import print_error, print_text

SUMMARY = "Take an old program from flax.optim to optax, step by step, in ./flaxoptim_demo"

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

_NEXT = """
For your own program:

  flaxoptim-compat run train.py             # runs it, unedited
  flaxoptim-compat rewrite . --to optax     # shows what would change
  flaxoptim-compat rewrite . --to optax --write --verify 'python train.py'"""


def run(arguments: argparse.Namespace) -> int:
    """Run all steps of the demo; returns 0 if both runs end on the same bits."""
    del arguments
    from flaxoptim_compat.cli import demo_steps

    try:
        if _FOLDER.exists() and any(_FOLDER.iterdir()):
            print_error(
                f"The folder {_FOLDER} is not empty: remove it, or start in another folder."
            )
            return 2
        demo_steps.prepare(_FOLDER)
        is_same = demo_steps.run_all(_FOLDER)
    except OSError as error:
        print_error(
            f"The folder {_FOLDER} cannot be written: {error.strerror}. Start the demo in a folder"
            " of your own."
        )
        return 2
    except demo_steps.Failure as failure:
        print_error(failure)
        return 1
    except KeyboardInterrupt:
        print_error(f"stopped. Remove the folder {_FOLDER} before you start again.")
        return 130
    print_text(_NEXT)
    return 0 if is_same else 1

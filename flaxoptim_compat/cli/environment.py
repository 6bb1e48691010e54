"""``flaxoptim-compat enable``, ``disable`` and ``status``: for all programs of an environment."""

from __future__ import annotations

import argparse
import sys

from flaxoptim_compat.cli.output import print_error, print_text

ENABLE = "Bring flax.optim back for every program of this Python environment"
DISABLE = "Undo enable"
STATUS = "Show what is enabled in this Python environment, its versions, and conflicts"

_EXAMPLES = """\
examples:
  flaxoptim-compat enable      # for all programs of this Python
  flaxoptim-compat status      # what is enabled now
  flaxoptim-compat disable     # back to the state before

enable writes a .pth file into site-packages, and disable deletes it. Use flaxoptim-compat run
for a single program.

"""
EPILOG = f"{_EXAMPLES}Exit status: 0 on success, 2 on failure."
STATUS_EPILOG = f"{_EXAMPLES}Exit status: 0 if nothing conflicts, 1 if something does."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the option of enable, --only-optim."""
    parser.add_argument(
        "--only-optim",
        action="store_true",
        help="bring back flax.optim only, without other names that jax, flax and numpy removed",
    )


def enable(arguments: argparse.Namespace) -> int:
    """Write the file that Python reads at every start."""
    from flaxoptim_compat.legacy import environment

    try:
        path = environment.enable(era=not arguments.only_optim)
    except (OSError, RuntimeError) as error:
        return _refuse(error)
    print_text(f"Every program of {sys.prefix} is served flax.optim from now on.")
    print_text(f"The file {path} does that; flaxoptim-compat disable deletes it.")
    return 0


def disable(arguments: argparse.Namespace) -> int:
    """Delete the file that Python reads at every start."""
    from flaxoptim_compat.legacy import environment

    try:
        path = environment.disable()
    except (OSError, RuntimeError) as error:
        return _refuse(error)
    if path is None:
        print_text(f"Nothing to do: {sys.prefix} is not enabled.")
    else:
        print_text(f"Deleted {path}. Programs that start from now on have no flax.optim.")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Print the served names, the versions and conflicts; returns 1 if there are conflicts."""
    import platform

    from flaxoptim_compat.legacy import environment

    serving = environment.serving()
    served = {
        "era": "flax.optim, and the other names that jax, flax and numpy dropped",
        "optim": "flax.optim only",
        None: "nothing; flaxoptim-compat enable changes that",
    }[serving]
    versions = environment.versions()
    conflicts = environment.conflicts(serving)
    print_text(f"environment  {sys.prefix} (Python {platform.python_version()})")
    print_text(f"served       {served}")
    if environment.hook_file().exists():
        print_text(f"enabled by   {environment.hook_file()}")
    print_text("versions     " + ", ".join(f"{k} {v or 'missing'}" for k, v in versions.items()))
    for number, conflict in enumerate(conflicts or ["none"]):
        print_text(f"{'conflicts' if number == 0 else '':<13}{conflict}")
    return 1 if conflicts else 0


def _refuse(error: Exception) -> int:
    print_error(f"{error} Nothing was changed.")
    return 2

"""Starts a program in a Python that serves the lost names, and is the same in every other way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from flaxoptim_compat.legacy import hook, installing

STARTUP = Path(__file__).with_name("startup")


def launch(program: Sequence[str], era: bool, names: int | None, random: str | None = None) -> int:
    """Turn this process into a Python that runs a program, with its signals and its exit status.

    Args:
      program: the arguments of ``python``, such as ``["train.py", "--steps", "10"]``.
      era: whether to serve the other lost names too.
      names: the number of used names in the line at the end: None for all, 0 for no line.
      random: as for ``install()``.
    """
    command = [sys.executable, *_flags(), *program]
    environment = child_environment(os.environ, program, era, names, random)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # on Windows a process cannot turn into another one
        return subprocess.run(command, env=environment, check=False).returncode
    os.execve(sys.executable, command, environment)


def child_environment(
    environment: Mapping[str, str],
    program: Sequence[str],
    era: bool,
    names: int | None,
    random: str | None = None,
) -> dict[str, str]:
    """The environment variables with which a Python serves the lost names.

    The variables are those in ``environment`` and some more; all else is as for ``launch``.
    """
    extended = {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(STARTUP), search_path(environment)])),
        hook.SERVE: "era" if era else "optim",
    }
    if random is not None:
        extended[installing.RANDOM] = random
    extended.pop(hook.REPORT, None)
    if names != 0:
        place = "." if program[0] == "-m" else program[0]
        extended[hook.REPORT] = f"{os.getpid()}:{names or ''}:{place}"
    return extended


def search_path(environment: Mapping[str, str]) -> str:
    """The ``PYTHONPATH`` with which a Python finds this package in any folder."""
    path = [environment.get("PYTHONPATH", "")]
    if not _is_installed():
        path.append(str(Path(__file__).parents[2]))
    return os.pathsep.join(filter(None, path))


def _is_installed() -> bool:
    # Otherwise this package was found in the current folder, which the program may not search.
    try:
        metadata.distribution("flaxoptim_compat")
    except metadata.PackageNotFoundError:
        return False
    return True


def _flags() -> list[str]:
    # As in multiprocessing, so that -W, -X and other flags reach the program.
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    # python -u sets no flag, only a stream without a buffer.
    return [*flags, "-u"] if getattr(sys.stdout, "write_through", False) else flags

"""Starting a program in a Python that serves the legacy names, and is the same in all else."""

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
    """Become Python running a program: same process, so same signals and same exit status.

    Args:
      program: the arguments of ``python``, such as ``["train.py", "--steps", "10"]``.
      era: whether to serve more than flax.optim.
      names: how many of the names that it used are said at the end: all if None, and if 0 there is
        no line.
      random: as for ``install()``.
    """
    command = [sys.executable, *_flags(), *program]
    environment = child_environment(os.environ, program, era, names, random)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # where a process cannot become another one
        return subprocess.run(command, env=environment, check=False).returncode
    os.execve(sys.executable, command, environment)


def child_environment(
    environment: Mapping[str, str],
    program: Sequence[str],
    era: bool,
    names: int | None,
    random: str | None = None,
) -> dict[str, str]:
    """The environment in which a Python serves the legacy names.

    Args:
      environment: the one to start from.
      program: as for ``launch``.
      era: as for ``launch``.
      names: as for ``launch``.
      random: as for ``launch``.
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
    # If not, this package was found in the current folder, where the program may not look.
    try:
        metadata.distribution("flaxoptim_compat")
    except metadata.PackageNotFoundError:
        return False
    return True


def _flags() -> list[str]:
    # As multiprocessing does, so that -W, -X and the like reach the program.
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    # python -u leaves no flag behind, only a stream that does not buffer.
    return [*flags, "-u"] if getattr(sys.stdout, "write_through", False) else flags

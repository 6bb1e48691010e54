"""Running Python programs as a user does, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def start(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, python: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments, in this folder."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", **(env or {})}
    return subprocess.run(
        [python or sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def output_of(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, python: str = ""
) -> str:
    """What Python prints with these arguments; it must succeed."""
    done = start(arguments, cwd, env, python)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def compat(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``flaxoptim-compat`` with these arguments, in this folder."""
    return start(["-m", "flaxoptim_compat", *arguments], cwd, env)


def start_within(
    memory: int, arguments: Sequence[str], cwd: Path
) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, which may take so many bytes of memory.

    Args:
      memory: how many.
      arguments: those of ``flaxoptim-compat``.
      cwd: where it runs.
    """
    program = (
        "import resource, sys; from flaxoptim_compat.cli import main;"
        f"resource.setrlimit(resource.RLIMIT_DATA, ({memory}, {memory}));"
        "sys.exit(main(sys.argv[1:]))"
    )
    return start(["-c", program, *arguments], cwd)

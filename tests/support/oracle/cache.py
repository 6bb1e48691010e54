"""Where the genuine releases are kept between test runs, and how children are started."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.places import ROOT

CACHE_VARIABLE = "FLAXOPTIM_COMPAT_TEST_CACHE"

# Variables by which the calling interpreter or test runner would reach into a child.
_LEAKING_PREFIXES = ("PYTHON", "JAX_", "XLA_", "PYTEST_", "VIRTUAL_ENV", "COV_")


class OracleUnavailable(RuntimeError):
    """The genuine flax cannot be had on this machine (no network, no Python 3.11, ...)."""


def cache_directory() -> Path:
    """Return the (existing) directory that keeps downloads between test runs."""
    default = ROOT / "tests" / ".cache"
    directory = Path(os.environ.get(CACHE_VARIABLE) or default).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def clean_environment(**extra: str) -> dict[str, str]:
    """Return this process's environment without what would leak into another Python."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_LEAKING_PREFIXES)}
    return {**kept, **extra}


def run_checked(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and raise with its stderr when it fails."""
    done = subprocess.run(
        list(command), env=dict(env), cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        shown = " ".join(command)
        raise RuntimeError(f"exit status {done.returncode} from: {shown}\n{done.stderr}")
    return done

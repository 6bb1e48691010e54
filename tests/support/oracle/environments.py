"""A Python 3.11 environment in which the genuine flax 0.5.3 runs as released (jax 0.4.13)."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.places import ROOT

from .cache import OracleUnavailable, cache_directory, clean_environment, run_checked

PINS = Path(__file__).with_name("old_environment.txt")


def old_environment() -> Path:
    """Return the Python of the old environment, creating the environment on first use."""
    digest = hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]
    directory = cache_directory() / f"old-environment-{digest}"
    finished = directory / "finished"
    if not finished.exists():
        with _only_one_process(directory.with_suffix(".lock")):
            if not finished.exists():
                _create(directory)
                finished.touch()
    return _python_in(directory)


def run_in_old_environment(script: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a script there; it may import ``tests.*``, and its failure raises with its stderr."""
    env = clean_environment(JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")
    return run_checked([str(old_environment()), str(script), *args], env, cwd=ROOT)


def _create(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    # The pins are the whole set, hence --no-deps: flax 0.5.3 also asks for matplotlib and
    # for a newer optax than runs on this jax, and needs neither.
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    install += ["--requirement", str(PINS)]
    try:
        run_checked([_python_311(), "-m", "venv", str(directory)], clean_environment())
        run_checked([str(_python_in(directory)), *install], clean_environment())
    except (OSError, RuntimeError) as error:
        raise OracleUnavailable(f"cannot create the jax 0.4.13 environment: {error}") from error


def _python_311() -> str:
    if sys.version_info[:2] == (3, 11):
        return sys.executable
    found = shutil.which("python3.11")
    if found is None:
        raise OracleUnavailable("jax 0.4.13 needs python3.11, and none is on the PATH")
    return found


def _python_in(directory: Path) -> Path:
    return directory / "bin" / "python"


@contextmanager
def _only_one_process(lock: Path) -> Iterator[None]:
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield

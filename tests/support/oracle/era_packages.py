"""Packages of the time of flax.optim, unpacked into one folder that a program can be given."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import zipfile
from pathlib import Path

from .cache import OracleUnavailable, cache_directory, clean_environment, run_checked

PINS = Path(__file__).with_suffix(".txt")


def era_packages() -> Path:
    """Return the folder, fetching the wheels on first use."""
    digest = hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]
    target = cache_directory() / f"era-packages-{digest}"
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as scratch:
            _fetch(Path(scratch))
            try:
                os.rename(Path(scratch) / "unpacked", target)
            except OSError:  # another worker was first
                if not target.is_dir():
                    raise
    return target


def _fetch(directory: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--require-hashes"]
    command += ["--dest", str(directory), "--requirement", str(PINS)]
    try:
        run_checked(command, clean_environment())
    except (OSError, RuntimeError) as error:
        raise OracleUnavailable(f"cannot fetch packages of the time: {error}") from error
    for wheel in directory.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(directory / "unpacked")

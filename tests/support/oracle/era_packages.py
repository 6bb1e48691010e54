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
# Of programs, which a test rewrites.
PROGRAMS = PINS.with_name("era_programs.txt")


def era_packages(pins: Path = PINS) -> Path:
    """Return the folder, fetching the wheels on first use.

    Args:
      pins: names, versions and hashes.
    """
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]
    target = cache_directory() / f"{pins.stem.replace('_', '-')}-{digest}"
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as scratch:
            _fetch(pins, Path(scratch))
            try:
                os.rename(Path(scratch) / "unpacked", target)
            except OSError:  # another worker was first
                if not target.is_dir():
                    raise
    return target


def _fetch(pins: Path, directory: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--require-hashes"]
    command += ["--dest", str(directory), "--requirement", str(pins)]
    try:
        run_checked(command, clean_environment())
    except (OSError, RuntimeError) as error:
        raise OracleUnavailable(f"cannot fetch packages of the time: {error}") from error
    for wheel in directory.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(directory / "unpacked")

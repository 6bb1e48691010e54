"""Unpacked directories of genuine flax wheels, fetched once and verified by hash."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path

from .cache import OracleUnavailable, cache_directory, clean_environment, run_checked

WHEEL_SHA256 = {
    "0.2.2": "e24fd49226e432a44e3796737e9da203c7c41f8303b50fb0bc1c87641a07ffa6",
    "0.3.2": "599073b19e7c6f7091a4e2464c50e99d6eb265725f8bb9d2ceb667ed6237a3cb",
    "0.3.4": "7c3820d9a556c0fe6d2fcc1175025010d3238e5d2ac6acd8fcc4c27f526941b2",
    "0.3.6": "8c1c3e181ed7f30aabe761b81bbfad1499173a5480ef5073082183b7469a9f0e",
    "0.5.3": "911dc4d6463ccba9808d303f44dfb4a0a6de277be8f3cbfda1471ed1a3e19374",
}


def genuine_wheel(version: str = "0.5.3") -> Path:
    """Return the unpacked genuine flax wheel of this version, fetching it if needed."""
    target = cache_directory() / f"flax-{version}"
    if not target.is_dir():
        _fetch(version, target)
    return target


def _fetch(version: str, target: Path) -> None:
    # Parallel test workers may fetch at once; each fills its own directory and the first
    # rename wins, so that a half-unpacked wheel is never visible under the final name.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as scratch:
        wheel = _download(version, Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        try:
            os.rename(unpacked, target)
        except OSError:
            if not target.is_dir():
                raise


def _download(version: str, directory: Path) -> Path:
    requirements = directory / "requirements.txt"
    requirements.write_text(f"flax=={version} --hash=sha256:{WHEEL_SHA256[version]}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--require-hashes"]
    command += ["--dest", str(directory), "--requirement", str(requirements)]
    try:
        run_checked(command, clean_environment())
    except (OSError, RuntimeError) as error:
        raise OracleUnavailable(f"cannot fetch the flax {version} wheel: {error}") from error
    return next(directory.glob("*.whl"))

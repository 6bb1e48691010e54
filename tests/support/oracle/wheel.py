"""Unpacked directories of genuine wheels, fetched once and verified by hash."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path

from .cache import OracleUnavailable, cache_directory, clean_environment, run_checked

WHEEL_SHA256 = {
    "0.2.2": "e24fd49226e432a44e3796737e9da203c7c41f8303b50fb0bc1c87641a07ffa6",
    "0.3.0": "0ab0269815069f763fd3e387e78d434ac2611fe5bf1cb9b78d64e6ccf44f7591",
    "0.3.1": "d1dc79d008b02ea4110f1eaf7e97f1b3e085e45a0bfe62f2f6e26930d3750fdd",
    "0.3.2": "599073b19e7c6f7091a4e2464c50e99d6eb265725f8bb9d2ceb667ed6237a3cb",
    "0.3.3": "974741671a7e3ddddb9b9803605784af0df2e1e9c84fc74eb9a0c54ab4bda0dd",
    "0.3.4": "7c3820d9a556c0fe6d2fcc1175025010d3238e5d2ac6acd8fcc4c27f526941b2",
    "0.3.5": "7c2c4eefd8576d911d845fe859f5defae288cc264a8353018202d901f7510fa5",
    "0.3.6": "8c1c3e181ed7f30aabe761b81bbfad1499173a5480ef5073082183b7469a9f0e",
    "0.4.0": "9d0ea684fb20f4b2e7562ddcc5a95b6563d085bc567f5bfd3343d37237f4cc30",
    "0.4.1": "eadc0126292bdfdd5ddb21b29c994db18544c6ff4a33eae54d4a59331db5a08f",
    "0.4.2": "37a3293d79cf7b49ca97e2f8fb99b92949013413474e0f059d3b44eec79b5c5a",
    "0.5.0": "bff805e587def1efbf53c5f4425bf1a7ce26f2b219cbfeb57d077107b29c91af",
    "0.5.1": "0ba5ea6bd1e20956e1da627d36413b43393d10613dd3e1715ad32411ee61dbd5",
    "0.5.2": "579bea7d6c8454782a2e0cfd210b26dbaff8afe5d4dd8e6e46c4ea4534cf2831",
    "0.5.3": "911dc4d6463ccba9808d303f44dfb4a0a6de277be8f3cbfda1471ed1a3e19374",
}


def genuine_wheel(version: str = "0.5.3") -> Path:
    """Return the unpacked genuine flax wheel of this version, fetching it if needed."""
    return unpacked(f"flax-{version}", f"flax=={version} --hash=sha256:{WHEEL_SHA256[version]}\n")


def unpacked(name: str, pins: str) -> Path:
    """Return a folder of unpacked wheels, fetching them on first use.

    Args:
      name: of the folder.
      pins: names, versions and hashes, as pip takes them.
    """
    target = cache_directory() / name
    if target.is_dir():
        return target
    # Parallel test workers may fetch at once; each fills its own directory and the first
    # rename wins, so that a half-unpacked wheel is never visible under the final name.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as scratch:
        folder = Path(scratch)
        requirements = folder / "requirements.txt"
        requirements.write_text(pins)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--only-binary=:all:", "--require-hashes"]
        command += ["--dest", scratch, "--requirement", str(requirements)]
        try:
            run_checked(command, clean_environment())
        except (OSError, RuntimeError) as error:
            raise OracleUnavailable(f"cannot fetch {name}: {error}") from error
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / "unpacked")
        try:
            os.rename(folder / "unpacked", target)
        except OSError:
            if not target.is_dir():
                raise
    return target

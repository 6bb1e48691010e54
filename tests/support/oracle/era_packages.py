"""Packages of the time of flax.optim, unpacked into one folder that a program can be given."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .wheel import unpacked

PINS = Path(__file__).with_suffix(".txt")
# Of programs, which a test rewrites.
PROGRAMS = PINS.with_name("era_programs.txt")


def era_packages(pins: Path = PINS) -> Path:
    """Return the folder, fetching the wheels on first use.

    Args:
      pins: names, versions and hashes.
    """
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]
    return unpacked(f"{pins.stem.replace('_', '-')}-{digest}", pins.read_text())

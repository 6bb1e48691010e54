"""Numbers and checkpoints recorded from the genuine ``flax.optim``; see README.md here."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).resolve().parent
CHECKPOINTS = DIRECTORY / "checkpoints"
TRAJECTORIES = DIRECTORY / "trajectories.msgpack.xz"

# What replica 0 and replica 1 are given of each step's gradients, averaging to one.
REPLICA_SHARES = (0.5, 1.5)


def load(packed: bytes | None = None) -> dict[str, Any]:
    """Return recorded numbers as nested dicts of numpy arrays.

    Args:
      packed: the content of the file with the trajectories; without it, that of the committed one.
    """
    from flax import serialization  # here, so that the recording scripts choose when

    packed = TRAJECTORIES.read_bytes() if packed is None else packed
    return serialization.msgpack_restore(lzma.decompress(packed))


def checkpoints() -> list[tuple[str, str]]:
    """Return the (flax release, case name) pairs that have recorded checkpoints."""
    return sorted((p.parent.name, p.name) for p in CHECKPOINTS.glob("*/*") if p.is_dir())


def checkpoint(release: str, case_name: str, step: int) -> bytes:
    """Return the optimizer as that release serialized it after 10 or 20 steps."""
    return (CHECKPOINTS / release / case_name / f"step{step}.msgpack").read_bytes()


def write_checkpoint(
    directory: Path, release: str, case_name: str, step: int, content: bytes
) -> None:
    """Store what :func:`checkpoint` returns of the goldens in a directory."""
    path = directory / "checkpoints" / release / case_name / f"step{step}.msgpack"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)

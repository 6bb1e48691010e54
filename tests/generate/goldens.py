"""The numbers and checkpoints of the genuine ``flax.optim`` in ``tests/data/goldens``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.data.goldens import CHECKPOINTS, DIRECTORY
from tests.generate.generator import Files, Generator
from tests.support.oracle.environments import run_in_old_environment

_SCRIPTS = tuple(
    Path(__file__).with_name(name) for name in ("record_goldens.py", "record_old_layouts.py")
)


def files() -> Files:
    """What the genuine optimizers compute and write now, in their old environment."""
    with tempfile.TemporaryDirectory() as name:
        for script in _SCRIPTS:
            run_in_old_environment(script, name)
        recorded = (path for path in Path(name).rglob("*") if path.is_file())
        return {DIRECTORY / path.relative_to(name): path.read_bytes() for path in recorded}


GENERATOR = Generator(
    "tests/data/goldens: runs of flax 0.2.2 to 0.5.3 on jax 0.4.13", files, CHECKPOINTS
)

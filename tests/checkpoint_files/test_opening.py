"""What a path leads to, whatever there is; and what is not imported for it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import CheckpointError, write_checkpoint
from tests.support.checkpoint_trees import contents
from tests.support.processes import output_of


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, r"There is no .*/x\. Name a checkpoint"),
        (lambda path: path.mkdir(), "no entries named checkpoint_1 or 1, but no entries at all"),
        (lambda path: os.mkfifo(path), "neither a file nor a directory"),
        (lambda path: path.symlink_to("nowhere"), "There is no "),
        (lambda path: path.symlink_to("x"), "cannot be read: Too many levels|There is no "),
        (
            lambda path: [(path / f"model_{n}").mkdir(parents=True) for n in range(20)],
            "but model_0, model_1, model_10, .*, …. If one of these is a checkpoint, give its path",
        ),
        (
            lambda path: (path / "checkpoint_3").mkdir(parents=True),
            r"checkpoint_3 is no orbax checkpoint and has no entries",
        ),
    ],
)
def test_paths_that_lead_nowhere(make: object, problem: str, tmp_path: Path) -> None:
    assert callable(make)
    make(tmp_path / "x")
    with pytest.raises(CheckpointError, match=problem):
        contents(tmp_path / "x")


def test_neither_jax_nor_flax_nor_orbax_is_imported(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"w": np.ones(3)}, "msgpack")
    write_checkpoint(tmp_path / "o", {"w": np.ones(3)}, "orbax")
    np.savez(tmp_path / "n.npz", w=np.ones(3))
    program = """
import sys
from flaxoptim_compat.checkpoint_files import open_checkpoint, write_checkpoint
print([name for name in ("numpy", "jax", "flax", "orbax", "tensorstore") if name in sys.modules])
for name in ("m", "o", "n.npz"):
    with open_checkpoint(name) as checkpoint:
        write_checkpoint(name + ".msgpack", checkpoint.tree, "msgpack")
        write_checkpoint(name + ".orbax", checkpoint.tree, "orbax")
print([name for name in ("jax", "flax", "orbax") if name in sys.modules])
"""
    assert output_of(["-c", program], tmp_path) == "[]\n[]\n"

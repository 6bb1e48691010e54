"""A file that is being read: while it is open, and as long as it has what it had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import CheckpointError, StoredArray, open_checkpoint
from tests.support.checkpoint_trees import GOLDENS, flax_bytes


def test_arrays_are_read_when_asked_for_and_only_while_the_file_is_open() -> None:
    with open_checkpoint(GOLDENS[0]) as checkpoint:
        assert isinstance(checkpoint.tree, dict)
        state: Any = checkpoint.tree["state"]
        step = state["step"] if isinstance(state["step"], StoredArray) else None
        kernel: Any = checkpoint.tree["target"]
    while not isinstance(kernel, StoredArray):
        kernel = next(iter(kernel.values()))
    with pytest.raises(CheckpointError, match=r"is closed. Read its arrays inside"):
        (step or kernel).read()


def test_a_file_that_shrinks_while_it_is_open_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(flax_bytes({"w": np.ones(100_000)}))
    with open_checkpoint(path) as checkpoint:
        assert isinstance(checkpoint.tree, dict)
        array = checkpoint.tree["w"]
        assert isinstance(array, StoredArray)
        with path.open("r+b") as file:
            file.truncate(1000)
        with pytest.raises(CheckpointError, match="has become shorter"):
            array.read()

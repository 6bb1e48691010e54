"""Arrays of several processes, which are beside the file of the others."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.training import checkpoints
from jax.experimental.array_serialization.serialization import GlobalAsyncCheckpointManager

from flaxoptim_compat.checkpoint_files import CheckpointError
from tests.support.checkpoint_trees import contents, described
from tests.support.optimizer_checkpoints import checkpointing_with_orbax


@pytest.mark.filterwarnings("ignore:Flax Checkpointing will soon be deprecated")
def test_arrays_of_several_processes_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flax writes arrays that no process has whole beside its file; here it believes all are so."""
    monkeypatch.setattr(
        checkpoints,
        "_is_multiprocess_array",
        lambda leaf: isinstance(leaf, jax.Array) and leaf.ndim,
    )
    tree = {
        "state": {"step": jnp.int32(3)},
        "target": {"Dense_0": {"bias": jnp.ones(3, jnp.bfloat16), "kernel": jnp.eye(2)}},
    }
    manager = GlobalAsyncCheckpointManager()
    with checkpointing_with_orbax(False):
        checkpoints.save_checkpoint_multiprocess(str(tmp_path), tree, 3, gda_manager=manager)
    manager.wait_until_finished()
    assert sorted(os.listdir(tmp_path)) == ["checkpoint_3", "checkpoint_3_gda"]
    assert described(contents(tmp_path)) == described(jax.tree.map(np.asarray, tree))

    (tmp_path / "checkpoint_3_gda" / "target" / "Dense_0" / "bias" / ".zarray").unlink()
    with pytest.raises(CheckpointError, match="the array 'target/Dense_0/bias' cannot be read"):
        contents(tmp_path)

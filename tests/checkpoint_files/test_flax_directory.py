"""Directories of several checkpoints: the newest of them is found, or the one that is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.training import checkpoints
from jax.experimental.array_serialization.serialization import GlobalAsyncCheckpointManager

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StepCheckpoint,
    open_checkpoint,
    write_checkpoint,
)
from tests.support.checkpoint_trees import contents, described
from tests.support.optimizer_checkpoints import checkpointing_with_orbax


def steps(
    directory: Path, names: Sequence[str], format_: Literal["msgpack", "orbax"] = "msgpack"
) -> Path:
    """A directory of checkpoints, each of which holds its own name."""
    for name in names:
        (directory / name).parent.mkdir(exist_ok=True)
        write_checkpoint(directory / name, {"name": name}, format_)
    return directory


@pytest.mark.parametrize(
    ("names", "newest"),
    [
        (["checkpoint_9", "checkpoint_10", "checkpoint_100"], "checkpoint_100"),
        (["checkpoint_0.01", "checkpoint_0.1", "checkpoint_0.001"], "checkpoint_0.1"),
        (["checkpoint_-1.0", "checkpoint_1.0", "checkpoint_1e5"], "checkpoint_1e5"),
        (["checkpoint_0"], "checkpoint_0"),
    ],
    ids=str,
)
def test_the_newest_of_several_is_the_one_that_flax_restores(
    names: list[str], newest: str, tmp_path: Path
) -> None:
    directory = steps(tmp_path, names)
    assert contents(directory) == {"name": newest}
    assert checkpoints.restore_checkpoint(str(directory), None) == {"name": newest}
    with open_checkpoint(directory) as checkpoint:
        assert checkpoint.path == directory / newest
        found = checkpoint.directory_of_steps
    assert sorted(names, key=lambda name: float(name[11:])) == [step.path.name for step in found]


def test_steps_are_whole_numbers_where_they_look_so(tmp_path: Path) -> None:
    with open_checkpoint(steps(tmp_path, ["checkpoint_7", "checkpoint_7.5"])) as checkpoint:
        assert checkpoint.directory_of_steps == (
            StepCheckpoint(tmp_path / "checkpoint_7", 7),
            StepCheckpoint(tmp_path / "checkpoint_7.5", 7.5),
        )
        assert isinstance(checkpoint.directory_of_steps[0].step, int)


def test_what_is_unfinished_or_something_else_is_no_step(tmp_path: Path) -> None:
    directory = steps(tmp_path, ["checkpoint_5"])
    (directory / "checkpoint_tmp").write_bytes(b"unfinished, by flax")
    (directory / "unfinished-checkpoint_6-0123abcd").write_bytes(b"unfinished, by us")
    (directory / "checkpoint_7.orbax-checkpoint-tmp-8").mkdir()
    (directory / "checkpoint_8_gda").mkdir()
    (directory / "checkpoint").mkdir()
    (directory / "events.out.tfevents.1234").write_bytes(b"")
    assert contents(directory) == {"name": "checkpoint_5"}


def test_one_of_several_can_be_named(tmp_path: Path) -> None:
    directory = steps(tmp_path, ["checkpoint_1", "checkpoint_2"])
    with open_checkpoint(str(directory / "checkpoint_1")) as checkpoint:
        assert checkpoint.tree == {"name": "checkpoint_1"}
        assert checkpoint.directory_of_steps == ()


@pytest.mark.parametrize(
    ("names", "newest"),
    [
        (["checkpoint_9", "checkpoint_10"], "checkpoint_10"),
        (["9", "10"], "10"),
        (["step_9", "step_10"], "step_10"),
        (["9/default", "10/default"], "10/default"),
        (["9/state", "10/state"], "10/state"),
        (["9/model", "10/model"], "10/model"),
        (["10/params", "10/default"], "10/default"),
    ],
    ids=str,
)
def test_directories_of_orbax_steps(names: list[str], newest: str, tmp_path: Path) -> None:
    directory = steps(tmp_path, names, "orbax")
    (directory / "11.orbax-checkpoint-tmp-0").mkdir()
    (directory / newest.split("/")[0] / "metrics").mkdir()
    with open_checkpoint(directory) as checkpoint:
        assert checkpoint.tree == {"name": newest}
        assert checkpoint.path == directory / newest
        assert checkpoint.format == "orbax"
        assert checkpoint.directory_of_steps[-1].step == 10
    with open_checkpoint(directory / newest.split("/")[0]) as checkpoint:
        assert checkpoint.path == directory / newest
        assert checkpoint.directory_of_steps == ()


def test_several_items_of_unknown_names_are_not_guessed_between(tmp_path: Path) -> None:
    steps(tmp_path, ["10/generator", "10/critic"], "orbax")
    with pytest.raises(CheckpointError, match=r"but critic, generator\. If one"):
        contents(tmp_path)


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

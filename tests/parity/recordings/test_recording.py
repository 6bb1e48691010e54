"""Reading recordings: every bit as it was recorded, a step at a time."""

from __future__ import annotations

import itertools
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.recordings import recorder
from flaxoptim_compat.parity.recordings.recording import Recording
from tests.data.recorded_programs.made_up import STEPS, Optimizer, program, write
from tests.support.checkpoint_trees import described


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "out.npz")
    return tmp_path / "out.npz"


def test_everything_is_as_it_was_recorded(path: Path) -> None:
    expected = list(program())
    with Recording.open(path) as recording:
        assert recording.path == path
        assert (recording.steps, recording.start_step) == (STEPS, 5)
        assert recording.names == ["a", "b/0", "b/1"]
        assert recording.definition["class"] == "Momentum"
        assert recording.overrides["learning_rate"].tolist() == [0.5, 0.25, 0.5 / 3]
        assert described(recording.params) == described(_arrays(Optimizer(0).target))
        for i in range(STEPS):
            after = Optimizer(i + 1)
            assert described(recording.gradients(i)) == described(_arrays(expected[i][1]))
            assert described(recording.params_after(i)) == described(_arrays(after.target))
            found = recording.moments_after(i)
            assert list(found) == ["mu", "count"] or list(found) == ["count", "mu"]
            mu = [None if each is None else each.tolist() for each in found["mu"]]
            assert mu == [i + 1.0, [(i + 1) / 2] * 2, None]
            assert [each is None for each in found["count"]] == [False, True, True]


def _arrays(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def test_leaves_go_back_into_the_tree_in_the_order_of_jax(path: Path) -> None:
    with Recording.open(path) as recording:
        leaves = jax.tree.leaves(recording.params)
        assert [leaf.shape for leaf in leaves] == [(), (2,), (2, 1)]
        assert described(recording.tree_of(leaves)) == described(recording.params)
        assert recording.tree_of("xyz") == {"a": "x", "b": ["y", "z"]}


def test_updates_are_numbered_from_0(path: Path) -> None:
    with Recording.open(path) as recording:
        for wrong in (-1, STEPS):
            with pytest.raises(IndexError, match=f"has 3 updates, and no update {wrong}"):
                recording.gradients(wrong)


def test_a_closed_recording_says_so(path: Path) -> None:
    recording = Recording.open(path)
    recording.close()
    assert repr(recording) == f"Recording({str(path)!r}, steps=3)"
    with pytest.raises(ParityError, match="is closed"):
        recording.gradients(0)


def test_arrays_stay_in_the_file(tmp_path: Path) -> None:
    """A file that loses its last step after it was opened still gives the first one."""
    write(tmp_path / "out.npz")
    size = os.path.getsize(tmp_path / "out.npz")
    with Recording.open(tmp_path / "out.npz") as recording:
        with (tmp_path / "out.npz").open("r+b") as file:
            file.truncate(size // 2)
        assert recording.gradients(0)["a"] == 0
        with pytest.raises(ParityError, match=r"out\.npz"):
            recording.params_after(STEPS - 1)


def test_one_step_is_in_memory_at_a_time(tmp_path: Path) -> None:
    path, size, steps = tmp_path / "out.npz", 2**20, 16
    params, grads = np.ones(size, np.float32), np.ones(size, np.float32)
    one_step = params.nbytes + grads.nbytes
    tracemalloc.start()
    try:
        with zipfile.ZipFile(path, "w") as archive:
            recording = recorder.RecordingWriter(archive, steps)
            recorder._record_yields(itertools.repeat((params, grads)), recording)
            recording.finish()
        assert tracemalloc.get_traced_memory()[1] < 4 * one_step
        with Recording.open(path) as read:
            for i in range(steps):
                assert read.gradients(i).size == read.params_after(i).size == size
        assert tracemalloc.get_traced_memory()[1] < 4 * one_step
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > steps * one_step

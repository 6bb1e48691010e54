"""What is written of a checkpoint is there when the call returns, and nothing else is written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import StoredArray, write_checkpoint
from tests.support.checkpoint_trees import contents, described
from tests.support.written_formats import TREE, Format, both_formats


@both_formats
def test_it_is_there_when_the_call_returns(format_: Format, tmp_path: Path) -> None:
    write_checkpoint(str(tmp_path / "x"), TREE, format_)
    assert os.listdir(tmp_path) == ["x"]
    assert described(contents(tmp_path / "x")) == described(TREE)


@both_formats
def test_values_that_are_not_as_announced_are_not_written(format_: Format, tmp_path: Path) -> None:
    wrong = StoredArray((3,), np.dtype(np.float32), lambda: np.ones(3))
    with pytest.raises(TypeError, match=r"has values of shape .* and dtype float64"):
        write_checkpoint(tmp_path / "x", {"a": wrong}, format_)
    assert not os.listdir(tmp_path)


def test_there_are_no_other_formats(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'msgpack' or 'orbax', not as 'npz'"):
        write_checkpoint(tmp_path / "x", TREE, "npz")  # type: ignore[arg-type]
    assert not os.listdir(tmp_path)


@both_formats
def test_progress_is_told_in_bytes_of_arrays(format_: Format, tmp_path: Path) -> None:
    tree = {"a": np.zeros(3_000_000), "b": np.zeros(10, np.int8), "none": None, "number": 1.5}
    seen: list[tuple[int, int]] = []
    write_checkpoint(tmp_path / "x", tree, format_, lambda *args: seen.append(args))
    done = [entry[0] for entry in seen]
    assert {entry[1] for entry in seen} == {24_000_010}
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 24_000_010)
    assert max(np.diff(done)) <= 2**22

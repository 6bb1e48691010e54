"""Reading recordings: every bit as recorded, a step at a time; what is damaged is an error."""

from __future__ import annotations

import io
import itertools
import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.recordings import recorder
from flaxoptim_compat.parity.recordings.recording import Recording
from tests.data.recorded_programs.made_up import STEPS, Optimizer, everything, program, write
from tests.support.checkpoint_trees import described


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("recording") / "out.npz"
    write(path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, content: bytes) -> Path:
    (tmp_path / "out.npz").write_bytes(content)
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


def test_arrays_stay_in_the_file(path: Path, content: bytes) -> None:
    """A file that loses its last step after it was opened still gives the first one."""
    with Recording.open(path) as recording:
        with path.open("r+b") as file:
            file.truncate(len(content) // 2)
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


# --- whatever is wrong with one, the error names the file


def test_no_truncation_goes_unnoticed(path: Path, content: bytes) -> None:
    for size in [*range(0, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(ParityError, match=r"out\.npz"):
            everything(path)


def test_no_flipped_byte_goes_unnoticed(path: Path, content: bytes) -> None:
    expected = everything(path)
    errors = []
    for place in range(0, len(content), 13):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            # Dates and other things in a zip file mean nothing.
            assert everything(path) == expected
        except ParityError as error:
            errors.append(str(error))
    assert all(str(path) in error for error in errors)
    assert len(errors) > len(content) / 13 / 3


Entries = dict[str, bytes]


def rewritten(path: Path, change: Callable[[Entries], Any]) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in entries.items():
            archive.writestr(name, value)


def saved(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


DESCRIPTION = "description/json.uint8.npy"


def test_other_files_are_no_recordings(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ParityError, match=r"There is no file .*missing\.npz"):
        Recording.open(tmp_path / "missing.npz")
    with pytest.raises(ParityError, match="There is no file"):
        Recording.open(tmp_path)
    np.savez(tmp_path / "weights.npz", w=np.ones(3))
    with pytest.raises(ParityError, match=r"weights.npz is no recording"):
        Recording.open(tmp_path / "weights.npz")
    (tmp_path / "text.npz").write_text("not a zip file")
    with pytest.raises(ParityError, match=r"text.npz is not an npz file, or damaged"):
        Recording.open(tmp_path / "text.npz")


class Exploding:
    def __reduce__(self) -> Any:
        return os.mkdir, ("code-was-run",)


def test_nothing_is_unpickled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    rewritten(path, lambda found: found.update({DESCRIPTION: saved(np.array([Exploding()]))}))
    with pytest.raises(ParityError, match="pickled Python objects"):
        Recording.open(path)
    assert os.listdir() == ["out.npz"]


@pytest.mark.parametrize(
    ("entry", "value", "said"),
    [
        ("2/gradient/1.bfloat16", None, "lacks a gradient of update 2"),
        ("3/parameter/2.float32", None, "lacks a parameter of update 3"),
        ("3/parameter/2.float32", np.ones((2, 2), "f"), "of another shape"),
        ("3/parameter/2.float32", np.ones((2, 1), "d"), "lacks a parameter of update 3"),
        ("3/parameter/1.bfloat16", np.ones(2, np.uint8), "lacks a parameter of update 3"),
        ("override/learning_rate.float64", None, "lacks values of 'learning_rate'"),
        ("override/learning_rate.float64", np.ones(9), "lacks values of 'learning_rate'"),
        ("description/json.uint8", None, "is no recording"),
        ("description/json.uint8", np.frombuffer(b"{", np.uint8), "The description is no JSON"),
        ("description/json.uint8", np.frombuffer(b"[" * 100_000, np.uint8), "is no JSON"),
        ("description/json.uint8", np.frombuffer(b"[1]", np.uint8), "is no recording"),
    ],
)
def test_what_is_missing_is_named(entry: str, value: Any, said: str, path: Path) -> None:
    def change(entries: Entries) -> None:
        del entries[f"{entry}.npy"]
        if value is not None:
            entries[f"{entry}.npy"] = saved(value)

    rewritten(path, change)
    with pytest.raises(ParityError, match=said) as caught:
        Recording.open(path)
    assert str(path) in str(caught.value)
    # The error still refers to what was read, and the file is closed nevertheless.
    still_open = [os.path.realpath(each) for each in Path("/proc/self/fd").glob("*")]
    assert os.path.realpath(path) not in still_open


def deep(levels: int) -> Any:
    node: Any = 0
    for _ in range(levels):
        node = {"list": [node]}
    return node


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"what": "a cake"}, "is no recording"),
        ({"format": 2}, "made by another release, in format 2; this one reads format 1"),
        ({"steps": 10**6}, "lacks a gradient of update 3"),
        ({"steps": -1}, "says 'steps' to be -1"),
        ({"steps": 10**400}, "says 'steps' to be 1000"),
        ({"steps": "3"}, "says 'steps' to be '3'"),
        ({"moments": {}}, "says 'moments' to be {}"),
        ({"overrides": [3]}, r"says 'overrides' to be \[3\]"),
        ({"definition": None}, "says 'definition' to be None"),
        ({"structure": None}, "not numbered one by one"),
        ({"structure": {"dict": [["a", 0], ["b", 0]]}}, "not numbered one by one"),
        ({"structure": {"dict": [["a", 0], ["b", 1]]}}, "lacks a parameter of update 0"),
        ({"structure": {"dict": [["a", 0], ["a", 1]]}}, "no structure of parameters"),
        ({"structure": {"dict": [["a", 0], [1, 1]]}}, "no structure of parameters"),
        ({"structure": {"dict": [["a"]]}}, "no structure of parameters"),
        ({"structure": {"dict": {"a": 0}}}, "no structure of parameters"),
        ({"structure": {"set": [0]}}, "no structure of parameters"),
        ({"structure": True}, "no structure of parameters"),
        ({"structure": deep(300)}, "no structure of parameters"),
    ],
)
def test_descriptions_are_not_believed(changes: dict[str, Any], said: str, path: Path) -> None:
    def change(entries: Entries) -> None:
        description = json.loads(np.load(io.BytesIO(entries[DESCRIPTION])).tobytes())
        text = json.dumps({**description, **changes}).encode()
        entries[DESCRIPTION] = saved(np.frombuffer(text, np.uint8))

    rewritten(path, change)
    with pytest.raises(ParityError, match=said) as caught:
        Recording.open(path)
    assert str(path) in str(caught.value)

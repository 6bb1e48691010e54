"""What two runs write: which differences count, and which are noise of a run."""

from __future__ import annotations

import io
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import serialization
from flax.training.train_state import TrainState

from flaxoptim_compat import optim
from flaxoptim_compat.observation import written_files
from flaxoptim_compat.observation.printed_lines import Closeness
from flaxoptim_compat.observation.written_files import ComparedFiles, Written

CLOSENESS = Closeness(1e-6, is_rounded=False)
PARAMS = {"dense": {"kernel": jnp.arange(6.0).reshape(2, 3), "bias": jnp.ones(3)}}
GRADS = {"dense": {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3)}}

Files = dict[str, "bytes | str | None"]


def npy(*values: float) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(values, np.float32))
    return file.getvalue()


def npz(**values: object) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **{name: np.asarray(each) for name, each in values.items()})
    return file.getvalue()


def old_checkpoint() -> bytes:
    optimizer = optim.Adam(0.1).create(PARAMS)
    return serialization.to_bytes({"optimizer": optimizer.apply_gradient(GRADS), "epoch": 3})


def new_checkpoint(epoch: int = 3, rate: float = 0.1, b1: float = 0.9) -> bytes:
    tx = optax.adam(rate, b1=b1)
    state = TrainState.create(apply_fn=None, params=PARAMS, tx=tx).apply_gradients(grads=GRADS)
    return serialization.to_bytes({"optimizer": state, "epoch": epoch})


def written(folder: Path, files: Files) -> Written:
    """What a run wrote that made files, and deleted those without content."""
    (folder / "copy").mkdir(parents=True)
    for name, content in files.items():
        (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            (folder / "copy" / name).touch()
    (folder / "copy" / "kept").touch()
    before = written_files.noted(folder / "copy")
    for name, content in files.items():
        if content is None:
            (folder / "copy" / name).unlink()
        else:
            data = content if isinstance(content, bytes) else content.encode()
            (folder / "copy" / name).write_bytes(data)
    return written_files.taken(folder / "copy", before, folder)


def compared(folder: Path, old: Files, new: Files, again: Files | None = None) -> ComparedFiles:
    third = None if again is None else written(folder / "again", again)
    sides = written(folder / "old", old), written(folder / "new", new)
    return written_files.compare(*sides, third, CLOSENESS)


SAME: dict[str, tuple[Files, Files]] = {
    "bytes": ({"a.bin": b"\xff\0"}, {"a.bin": b"\xff\0"}),
    "a checkpoint": ({"c_1": old_checkpoint()}, {"c_1": new_checkpoint()}),
    "a rounding": ({"a.npy": npy(1.0)}, {"a.npy": npy(1.0000001)}),
    "nan": ({"a.npz": npz(a=[np.nan, 1.0])}, {"a.npz": npz(a=[np.nan, 1.0])}),
    "another compression": ({"a.npz": npz(a=[1, 2])}, {"a.npz": npz(a=[1.0, 2.0])}),
    "a time in the name": (
        {"runs/2026-11-29_07-52/a.json": '{"loss": 0.5}'},
        {"runs/2026-11-29_07-53/a.json": '{"loss": 0.50}'},
    ),
    "a log": ({"a.log": "took 3 s: 0.5\n"}, {"a.log": "took 4 s: 0.5\n"}),
    "deleted by both": ({"c_1": None, "b": "1"}, {"c_1": None, "b": "1"}),
}
DIFFERENT: dict[str, tuple[Files, Files, str]] = {
    "bytes": ({"a.bin": b"\xff\0"}, {"a.bin": b"\xff\1"}, "a.bin: other bytes"),
    "an array": ({"a.npy": npy(1.0)}, {"a.npy": npy(1.1)}, "a.npy: the array differs"),
    "a shape": ({"a.npy": npy(1.0)}, {"a.npy": npy(1.0, 1.0)}, "a.npy: the array differs"),
    "an entry": ({"a.npz": npz(a=[1], b=[2])}, {"a.npz": npz(a=[1])}, "only the old one has b"),
    "text in arrays": ({"a.npz": npz(a=["x"])}, {"a.npz": npz(a=["y"])}, "other bytes"),
    "parameters": (
        {"c": old_checkpoint()},
        {"c": new_checkpoint(rate=0.2)},
        "c: optimizer/parameters/dense/bias differs",
    ),
    "moments": (
        {"c": old_checkpoint()},
        {"c": new_checkpoint(b1=0.8)},
        "c: optimizer/moments differ",
    ),
    "beside the optimizer": (
        {"c": old_checkpoint()},
        {"c": new_checkpoint(epoch=4)},
        "c: epoch differs",
    ),
    "a json": (
        {"a.json": '{"loss": 0.5}'},
        {"a.json": '{"loss": 0.6}'},
        'a.json: `{"loss": 0.5}` is now `{"loss": 0.6}`',
    ),
    "one more": ({}, {"c_2": "1"}, "c_2 is not written before and written after"),
    "not deleted": ({"c_1": None}, {}, "c_1 is deleted before and not written after"),
    "another step": ({"c_1": "1"}, {"c_2": "1"}, "c_1 is written before and not written after"),
}
# With what another run of the old program writes.
DRAWN: dict[str, tuple[Files, Files, Files]] = {
    "names": (
        {"runs/happy-fox/a.csv": "1,0.5"},
        {"runs/sad-cat/a.csv": "1,0.5"},
        {"runs/mad-dog/a.csv": "1,0.5"},
    ),
    "bytes": ({"a.png": b"\xff\0"}, {"a.png": b"\xff\1"}, {"a.png": b"\xff\2"}),
    "a column of times": ({"a.csv": "1,0.5,17"}, {"a.csv": "1,0.5,18"}, {"a.csv": "1,0.5,19"}),
    "a file now and then": ({"a.lock": ""}, {}, {}),
}


@pytest.mark.parametrize("name", SAME)
def test_files_are_the_same_by_what_is_in_them(tmp_path: Path, name: str) -> None:
    old, new = SAME[name]
    result = compared(tmp_path, old, new)
    assert (result.differing, result.compared, result.left_out) == ([], 1, [])


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_file_is_named_with_what_differs(tmp_path: Path, name: str) -> None:
    old, new, told = DIFFERENT[name]
    for number, again in enumerate((None, old)):
        result = compared(tmp_path / str(number), old, new, again)
        assert told in result.differing[0] and not result.left_out


@pytest.mark.parametrize("name", DRAWN)
def test_what_two_runs_write_differently_is_left_out(tmp_path: Path, name: str) -> None:
    old, new, again = DRAWN[name]
    result = compared(tmp_path / "with", old, new, again)
    assert result.differing == [] and len(result.left_out) == (
        name in ("bytes", "a file now and then")
    )


def test_a_random_name_has_the_same_content(tmp_path: Path) -> None:
    files = [{f"runs/{name}/a.csv": f"1,{loss}"} for name, loss in (("a", 1), ("b", 2), ("c", 1))]
    result = compared(tmp_path, *files)
    assert result.differing == ["runs/a/a.csv: `1,1` is now `1,2`"]


def test_events_of_tensorboard_are_not_compared(tmp_path: Path) -> None:
    names = [
        f"runs/events.out.tfevents.{time}.host.{time % 7}.0" for time in (1638172326, 1638172399)
    ]
    result = compared(tmp_path, {names[0]: b"\0a"}, {names[1]: b"\0b"})
    assert (result.differing, result.compared, result.left_out) == ([], 0, [names[0]])

"""What a path leads to, whatever there is; what is imported for it; and files as they are read.

Only plain files below a checkpoint are read: a link could lead out, a pipe keep us waiting.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StoredArray,
    open_checkpoint,
    write_checkpoint,
)
from flaxoptim_compat.cli import main
from tests.support.checkpoint_trees import GOLDENS, contents, flax_bytes
from tests.support.orbax_states import save_pytree
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


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        # An address is short, and may be relative.
        before = os.getcwd()
        os.chdir(path.parent)
        listening.bind(path.name)
        os.chdir(before)


SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "is a pipe, a device or a socket"),
    "link": (lambda path: path.symlink_to(path.parent / "secret"), "is a symbolic link"),
    "socket": (listen, "is a pipe, a device or a socket"),
}


def orbax_directory(path: Path) -> Path:
    write_checkpoint(path, {"a": np.ones(3), "c": "text"}, "orbax")
    return path


def parts_of(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("*") if file.is_file())


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("made", [orbax_directory, save_pytree], ids=["folders", "database"])
def test_nothing_else_stands_in_the_place_of_a_file(
    made: Callable[[Path], Path], special: str, tmp_path: Path
) -> None:
    whole = made(tmp_path / "whole")
    put, problem = SPECIAL[special]
    for number, part in enumerate(parts_of(whole)):
        copy = Path(shutil.copytree(whole, tmp_path / str(number)))
        place = copy / part.relative_to(whole)
        place.rename(place.with_name("secret")) if special == "link" else place.unlink()
        put(place)
        with pytest.raises(CheckpointError, match=f"{place.name} {problem}"):
            contents(copy)


def test_no_folder_is_a_link(tmp_path: Path) -> None:
    whole = orbax_directory(tmp_path / "whole")
    (whole / "a").rename(tmp_path / "elsewhere")
    (whole / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="whole/a is a symbolic link"):
        contents(whole)


def test_a_folder_is_no_file_of_a_checkpoint(tmp_path: Path) -> None:
    whole = orbax_directory(tmp_path / "whole")
    (whole / "a" / "0").unlink()
    (whole / "a" / "0").mkdir()
    with pytest.raises(CheckpointError, match="the array 'a' cannot be read"):
        contents(whole)


def test_the_checkpoint_itself_may_be_named_by_a_link(tmp_path: Path) -> None:
    orbax_directory(tmp_path / "10")
    (tmp_path / "newest").symlink_to("10")
    assert contents(tmp_path / "newest")["c"] == "text"


def test_parity_does_not_wait_for_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    status = main(["parity", "--params", str(tmp_path / "pipe"), "optim.Adam(0.1)"])
    assert status == 2
    assert "is a pipe or a device" in " ".join(capsys.readouterr().err.split())

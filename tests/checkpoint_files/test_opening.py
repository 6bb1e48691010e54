"""What a path leads to, a file or a directory of several; what is imported for it; files as read.

Only plain files below a checkpoint are read: a link could lead out, a pipe keep us waiting.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.training import checkpoints
from jax.experimental.array_serialization.serialization import GlobalAsyncCheckpointManager

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StepCheckpoint,
    StoredArray,
    open_checkpoint,
    write_checkpoint,
)
from flaxoptim_compat.cli import main
from tests.support.checkpoint_trees import GOLDENS, contents, described, flax_bytes
from tests.support.optimizer_checkpoints import checkpointing_with_orbax
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

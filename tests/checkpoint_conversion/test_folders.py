"""A folder of checkpoints becomes a folder in which the new program goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax.training import checkpoints

from flaxoptim_compat import optim
from flaxoptim_compat.cli import main
from tests.support.optimizer_checkpoints import checkpointing_with_orbax
from tests.support.side_by_side import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:Flax Checkpointing will soon be deprecated")


def convert(*words: Any) -> int:
    options = ["--to", "train-state", "--definition", "optim.Adam(0.1)"]
    return main(["checkpoint", "convert", *map(str, words), *options])


@pytest.fixture
def optimizers(folder_of_its_own: object) -> dict[int, Any]:
    """The optimizers in the folder runs of the test, by their steps."""
    optimizer = optim.Adam(0.1).create({"w": jnp.arange(3.0)})
    saved = {}
    for step in (1, 2, 3):
        optimizer = optimizer.apply_gradient(jax.tree.map(jnp.cos, optimizer.target))
        with checkpointing_with_orbax(False):
            checkpoints.save_checkpoint("runs", optimizer, step, keep=5)
        saved[step] = optimizer
    Path("runs/log.txt").write_text("no checkpoint")
    return saved


def restored(folder: str) -> Any:
    template = optim.Adam(0.1).create({"w": jnp.zeros(3)}).to_train_state()
    return checkpoints.restore_checkpoint(folder, template)


def names(folder: str) -> list[str]:
    return sorted(each.name for each in Path(folder).iterdir())


def test_the_newest_one(optimizers: dict[int, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert convert("runs", "new_runs") == 0
    assert_same(restored("new_runs"), optimizers[3].to_train_state())
    assert names("new_runs") == ["checkpoint_3"]
    said = capsys.readouterr().out
    assert said.startswith("runs/checkpoint_3, the newest of 3; --all takes each\n")
    assert "Wrote new_runs/checkpoint_3: msgpack" in said and "unfinished" not in said
    assert convert("runs", "new_runs") == 2 and "exists already" in capsys.readouterr().err


def test_all_of_them(optimizers: dict[int, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert convert("runs", "new_runs", "--all") == 0
    assert names("new_runs") == [f"checkpoint_{step}" for step in optimizers]
    assert capsys.readouterr().out.count("\nWrote new_runs/checkpoint_") == 3
    for step, optimizer in optimizers.items():
        found = restored(f"new_runs/checkpoint_{step}")
        assert_same(found, optimizer.to_train_state())


def test_of_several_all_or_none_appear(optimizers: dict[int, Any]) -> None:
    Path("runs/checkpoint_2").write_bytes(b"\x81\xa1damaged")
    before = names(".")
    assert convert("runs", "new_runs", "--all") == 2
    assert names(".") == before


@pytest.mark.usefixtures("optimizers")
@pytest.mark.parametrize(
    ("source", "destination", "written"),
    [
        ("runs/checkpoint_2", "new", "new"),
        ("runs/checkpoint_2", "there", "there/checkpoint_2"),
        ("runs", "there", "there/checkpoint_3"),
        ("runs", "there/checkpoint_7", "there/checkpoint_7"),
        ("runs", "new.msgpack", "new.msgpack"),
    ],
)
def test_names(source: str, destination: str, written: str) -> None:
    Path("there").mkdir()
    assert convert(source, destination) == 0
    assert Path(written).is_file()


@pytest.mark.usefixtures("optimizers")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["runs", "runs"], "runs is the folder of the old checkpoints, which stay as they are."),
        (["runs", "runs/../runs"], "such as runs_converted, and start the new program"),
        (["runs/checkpoint_2", "runs"], "is the folder of the old checkpoints"),
        (["runs/checkpoint_2", "new", "--all"], "--all is for a folder of checkpoints"),
        (["runs", "there", "--all"], "there exists already. Give another path"),
        (["runs", "no/where"], "There is no directory no. Make it first."),
    ],
)
def test_what_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("there").mkdir()
    before = names("runs"), names(".")
    assert convert(*words) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert (names("runs"), names(".")) == before

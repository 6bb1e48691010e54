"""``flaxoptim-compat checkpoint convert`` from the command line, with every kind of file."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization, traverse_util
from flax.training import checkpoints
from orbax.checkpoint import PyTreeCheckpointer

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_conversion.between_files import convert_checkpoint
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings
from flaxoptim_compat.checkpoint_files import CheckpointError, write_checkpoint
from flaxoptim_compat.cli import main
from tests.data import goldens
from tests.support.cases import case
from tests.support.checkpoint_conversions import with_moments, written
from tests.support.optimizer_checkpoints import checkpointing_with_orbax
from tests.support.side_by_side import assert_same
from tests.support.training import create

pytestmark = pytest.mark.usefixtures("folder_of_its_own")

ADAM = goldens.CHECKPOINTS / "flax-0.5.3" / "Adam-default" / "step10.msgpack"
DEFINITION = """
from flax import optim
import jax

MADE = jax.tree_map(lambda value: 2 * value, [0.025])

def definition():
    return optim.Adam(learning_rate=MADE[0])

made = definition()
"""


def convert(*arguments: Any) -> int:
    return main(["checkpoint", "convert", *map(str, arguments)])


def adam() -> Any:
    return serialization.from_bytes(create(case("Adam-default"), optim), ADAM.read_bytes())


def test_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(ADAM, "new.msgpack", "--to", "train-state", "--optimizer", "Adam") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert (
        out
        == """\
Optimizer at the top of the checkpoint: Adam at step 10, with \
weight_decay=0 assumed, now a TrainState.
Wrote new.msgpack: msgpack, 22 arrays, 4.2 kB.

Restore it with

  from flax import serialization

  with open('new.msgpack', "rb") as file:
      state = serialization.from_bytes(optimizer.to_train_state(), file.read())

A legacy checkpoint holds no learning rate, so the learning rate is NaN in the new checkpoint. A
program that gives a rate to each step needs nothing. Any other program sets the rate once:

  state.opt_state.hyperparams["learning_rate"] = 0.001  # yours

With --definition, the conversion takes the rate and other hyper-parameters from the old program.
"""
    )
    assert convert("new.msgpack", "old.msgpack", "--to", "legacy") == 0
    assert Path("old.msgpack").read_bytes() == ADAM.read_bytes()
    capsys.readouterr()
    assert convert(ADAM, "old.msgpack", "--to", "train-state", "--optimizer", "Adam") == 2
    assert "old.msgpack exists already" in capsys.readouterr().err
    assert Path("old.msgpack").read_bytes() == ADAM.read_bytes()


def test_a_definition_without_a_rate_is_not_asked_for_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert convert(ADAM, "new", "--to", "train-state", "--definition", "optim.Adam()") == 0
    assert capsys.readouterr().out.endswith('.hyperparams["learning_rate"] = 0.001  # yours\n')


@pytest.mark.parametrize("format_", ["msgpack", "orbax"])
def test_the_code_that_it_prints_restores(format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    optimizer = adam()
    arguments = ("--to", "train-state", "--optimizer", "Adam", "--format", format_)
    assert convert(ADAM, "new", *arguments) == 0
    scope: dict[str, Any] = {"optimizer": optimizer}
    exec(printed_code(capsys.readouterr().out), scope)
    state = scope["state"]
    state.opt_state.hyperparams["learning_rate"] = jnp.asarray(0.05, jnp.float32)
    assert_same(state, optimizer.to_train_state())
    assert convert("new", "old", "--to", "legacy", "--format", format_) == 0
    scope = {"optimizer": create(case("Adam-default"), optim)}
    exec(printed_code(capsys.readouterr().out), scope)
    assert_same(scope["optimizer"], optimizer)


def printed_code(output: str) -> str:
    """The first block of code in a report."""
    block = output.partition("Restore it with\n\n")[2]
    lines = re.match(r"(?:  .*\n|\n)+", block)
    assert lines is not None
    return "\n".join(line[2:] for line in lines.group().splitlines())


@pytest.mark.parametrize(
    "text", ["old_program:definition", "old_program.py:made", "optim.Adam(2 * 0.025)"]
)
def test_a_definition_in_a_file_that_says_flax_optim_or_written_out(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("old_program.py").write_text(DEFINITION)
    assert convert(ADAM, "new", "--to", "train-state", "--definition", text) == 0
    assert "learning rate" not in capsys.readouterr().out
    assert Path("new").read_bytes() == serialization.to_bytes(adam().to_train_state())
    assert "flax.optim" not in sys.modules


@pytest.mark.parametrize(
    ("program", "name", "message"),
    [
        ("", "bad", "write MODULE:NAME or FILE.py:NAME"),
        ("", "nowhere:definition", "No module named 'nowhere'"),
        ("", "bad:missing", "has no attribute 'missing'"),
        ("definition = 3", "bad.py:definition", "is of type `int`. Name a definition such"),
        (
            "def definition():\n  return 3",
            "bad:definition",
            "is of type `int`. Name a definition such",
        ),
        ("def definition():\n  return {}", "bad:definition", "is an empty dict. Name a"),
        ("def definition():\n  1 / 0", "bad:definition", "bad.py:2: division by zero"),
        ("import sys; sys.exit(0)", "bad:definition", "SystemExit at "),
        ("def definition(:", "bad:definition", "SyntaxError"),
        ("", "dict(a=3)", "is of type `int`. Name a definition such"),
        ("", "optim.Adam(", "the text is no Python expression"),
        ("", "optim.Adams(1)", "has no attribute 'Adams'"),
    ],
)
def test_definitions_that_are_none(
    program: str, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.py").write_text(program)
    assert convert(ADAM, "new", "--to", "train-state", "--definition", name) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in " ".join(err.split()) and "Traceback" not in err
    assert not Path("new").exists()


@pytest.mark.filterwarnings("ignore:Flax Checkpointing will soon be deprecated")
@pytest.mark.parametrize("orbax", [False, True], ids=["msgpack", "orbax"])
@pytest.mark.parametrize("name", ["Adam-all", "MultiOptimizer-two", "WeightNorm-over_Momentum"])
def test_directories_of_flax_checkpoints(name: str, orbax: bool, tmp_path: Path) -> None:
    if orbax and not hasattr(checkpoints, "ORBAX_METADATA_FILENAME"):
        pytest.skip("before flax 0.9 it knows a directory of orbax by two other files")
    entry = case(name)
    optimizer = with_moments(create(entry, optim))
    with checkpointing_with_orbax(orbax):
        for step in (1, 2):
            here = optimizer.replace(state=optimizer.state.replace(step=jnp.asarray(step)))
            checkpoints.save_checkpoint(tmp_path / "run", here, step=step, keep=2)
    Path("program.py").write_text(
        f"from tests.support.cases import case\nfrom flaxoptim_compat import optim\n\n"
        f"def definition():\n    return case({name!r}).build(optim)\n"
    )
    arguments = ("--to", "train-state", "--definition", "program:definition")
    assert convert("run", tmp_path / "new" / "checkpoint_2", *arguments) == 2  # no folder "new"
    (tmp_path / "new").mkdir()
    assert convert("run", tmp_path / "new" / "checkpoint_2", *arguments) == 0
    template = create(entry, optim).to_train_state()
    restored = checkpoints.restore_checkpoint(tmp_path / "new", template)
    assert_same(restored, optimizer.to_train_state())


@pytest.mark.parametrize("name", ["Adam-default", "RMSProp-default", "GradientDescent-default"])
def test_npz_files(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    optimizer = with_moments(create(case(name), optim))
    tree = {"opt": serialization.to_state_dict(optimizer), "extra": {"rng": np.arange(2)}}
    flat = traverse_util.flatten_dict(tree, sep="/")
    np.savez("old.npz", **{path: leaf for path, leaf in flat.items() if leaf is not None})
    which = ("--optimizer", "Adam") if name.startswith("Adam") else ()
    assert convert("old.npz", "new", "--to", "train-state", *which) == 0
    capsys.readouterr()
    template = {"opt": optimizer.to_train_state(), "extra": tree["extra"]}
    restored = serialization.from_bytes(template, Path("new").read_bytes())
    restored["opt"].opt_state.hyperparams["learning_rate"] = jnp.asarray(0.05, jnp.float32)
    assert_same(restored, template)


@pytest.mark.parametrize("name", ["Adam-all", "MultiOptimizer-two", "WeightNorm-over_Momentum"])
def test_orbax_directories_of_programs(name: str, tmp_path: Path) -> None:
    entry = case(name)
    optimizer = with_moments(create(entry, optim))
    state = optimizer.to_train_state()
    PyTreeCheckpointer().save(tmp_path / "state", state)
    PyTreeCheckpointer().save(tmp_path / "legacy", optimizer)
    definition = entry.build(optim)
    for source, destination, to in (("state", "old", "legacy"), ("legacy", "new", "train-state")):
        settings = ConversionSettings(to, definitions=definition)
        convert_checkpoint(source, destination, settings, format_="msgpack")
    assert Path("old").read_bytes() == serialization.to_bytes(optimizer)
    assert Path("new").read_bytes() == serialization.to_bytes(state)


def test_orbax_restores_into_a_nested_template(capsys: pytest.CaptureFixture[str]) -> None:
    optimizer = adam()
    written(Path("old"), {"optimizer": optimizer, "epoch": jnp.asarray(3)})
    arguments = ("--to", "train-state", "--optimizer", "LAMB", "--format", "orbax")
    assert convert("old", "new", *arguments) == 0
    assert "with optimizer.to_train_state()\nat optimizer, all else" in capsys.readouterr().out
    lamb = optim.LAMB(0.05).create(optimizer.target).replace(state=optimizer.state)
    template = {"optimizer": lamb.to_train_state(), "epoch": jnp.asarray(0)}
    restored = PyTreeCheckpointer().restore(Path("new").absolute(), item=template)
    assert jax.tree.structure(restored) == jax.tree.structure(template)
    assert int(restored["epoch"]) == 3
    assert_same(restored["optimizer"].params, optimizer.target)


def test_a_rate_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    # What is said of the old rate is worked out before there is a destination.
    state = optim.Adam(0.1).create({"w": jnp.ones(3)}).to_train_state()
    old, new = tmp_path / "old", tmp_path / "new"
    tree = jax.tree.map(np.asarray, serialization.to_state_dict(state))
    write_checkpoint(old, tree, "orbax")
    (rate,) = (each for each in old.glob("*learning_rate*/*") if each.name[0].isdigit())
    rate.write_bytes(rate.read_bytes()[:1])
    with pytest.raises(CheckpointError, match="cannot be read"):
        convert_checkpoint(old, new, ConversionSettings("legacy"))
    assert [each.name for each in tmp_path.iterdir()] == ["old"]


NEW_PROGRAM = """\
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState


def new_state(width=3):
    params = {"w": jnp.zeros(width)}
    return TrainState.create(apply_fn=None, params=params, tx=optax.adam(0.1))


def wider():
    return new_state(4)


def in_a_dict():
    return {"epoch": 0, "state": new_state()}


ready = new_state()
"""


def convert_fitting(
    fits: str, capsys: pytest.CaptureFixture[str], rate: str = "fixed"
) -> tuple[int, str]:
    Path("train.py").write_text(NEW_PROGRAM)
    written(Path("old"), optim.Adam(0.1).create({"w": jnp.ones(3)}))
    options = ["--definition", "optim.Adam(0.1)", "--rate", rate, "--fits", fits]
    status = main(["checkpoint", "convert", "old", "new", "--to", "train-state", *options])
    assert Path("new").exists() == (status == 0)
    return status, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["train:new_state", "train:ready", "train.py:new_state"])
def test_it_fits(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert_fitting(name, capsys) == (0, "")


@pytest.mark.parametrize(
    ("name", "rate", "reason"),
    [
        ("train:new_state", "settable", "Flax would refuse it with ValueError"),
        ("train:new_state", "scheduled", "Flax would refuse it with ValueError"),
        ("train:in_a_dict", "fixed", "Flax would refuse it with ValueError"),
        (
            "train:wider",
            "fixed",
            "float32 of shape (3,) in the result, and float32 of shape (4,)",
        ),
        ("train:nowhere", "fixed", "--fits train:nowhere: AttributeError"),
        ("train", "fixed", "write MODULE:NAME or FILE.py:NAME"),
    ],
)
def test_it_does_not(name: str, rate: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, errors = convert_fitting(name, capsys, rate)
    assert status == 2 and reason in errors, errors


def test_a_state_that_is_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(NEW_PROGRAM)
    optimizer = optim.Adam(0.1).create({"w": jnp.ones(3)})
    written(Path("old"), {"epoch": 3, "state": optimizer})
    options = ["--definition", "optim.Adam(0.1)", "--rate", "fixed", "--fits", "train:in_a_dict"]
    assert main(["checkpoint", "convert", "old", "new", "--to", "train-state", *options]) == 0

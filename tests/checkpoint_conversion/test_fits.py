"""``checkpoint convert --fits``: nothing is written that the new program could not restore."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.cli import main
from tests.support.checkpoint_conversions import written

pytestmark = pytest.mark.usefixtures("folder_of_its_own")

PROGRAM = """\
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


def convert(fits: str, capsys: pytest.CaptureFixture[str], rate: str = "fixed") -> tuple[int, str]:
    Path("train.py").write_text(PROGRAM)
    written(Path("old"), optim.Adam(0.1).create({"w": jnp.ones(3)}))
    options = ["--definition", "optim.Adam(0.1)", "--rate", rate, "--fits", fits]
    status = main(["checkpoint", "convert", "old", "new", "--to", "train-state", *options])
    assert Path("new").exists() == (status == 0)
    return status, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["train:new_state", "train:ready", "train.py:new_state"])
def test_it_fits(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(name, capsys) == (0, "")


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
    status, errors = convert(name, capsys, rate)
    assert status == 2 and reason in errors, errors


def test_a_state_that_is_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(PROGRAM)
    optimizer = optim.Adam(0.1).create({"w": jnp.ones(3)})
    written(Path("old"), {"epoch": 3, "state": optimizer})
    options = ["--definition", "optim.Adam(0.1)", "--rate", "fixed", "--fits", "train:in_a_dict"]
    assert main(["checkpoint", "convert", "old", "new", "--to", "train-state", *options]) == 0

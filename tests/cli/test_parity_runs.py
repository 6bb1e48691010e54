"""What ``flaxoptim-compat parity`` runs: a recording, a replay, and all optimizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.cli import main, parity_runs

pytestmark = pytest.mark.usefixtures("folder_of_its_own")

OLD, NEW = "optim.Momentum(0.1)", "optax.sgd(0.1, 0.9)"


TRAIN = """\
import numpy as np
from flax import optim

def train():
    optimizer = optim.Momentum(0.1).create({"w": np.ones(3, np.float32)})
    for step in range(4):
        grads = {"w": np.full(3, step - 1.5, np.float32)}
        yield optimizer, grads, {"learning_rate": 0.1 / (step + 1)}
        optimizer = optimizer.apply_gradient(grads, learning_rate=0.1 / (step + 1))
    yield (optimizer,)
"""


def test_record_and_replay(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(TRAIN)
    assert main(["parity", "record", "run.npz", "train.py:train", "--steps", "4"]) == 0
    assert "Recorded 4 updates of Momentum" in capsys.readouterr().out
    injected = "optax.inject_hyperparams(optax.sgd)(0.1, 0.9)"
    assert main(["parity", "replay", "run.npz", injected, "--report", "replay.json"]) == 0
    out, _ = capsys.readouterr()
    assert "at each of 4 steps" in out and "first   run.npz" in out
    assert json.loads(Path("replay.json").read_text())["steps"] == 4
    assert main(["parity", "replay", "run.npz", "optax.sgd(0.1, 0.9)", "--steps", "3"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    early = ["--steps", "3", "replay", "run.npz", "--report", "early.txt", "optax.sgd(0.1, 0.9)"]
    assert main(["parity", *early]) == 1
    assert Path("early.txt").read_text() in capsys.readouterr().out
    assert "PART at step 2 of 3" in out and "goes by its own learning_rate" in out
    assert main(["parity", "--params", "run.npz", OLD, "--steps", "2"]) == 0


@pytest.mark.parametrize("word", ["--all", "survey"])
def test_all(
    word: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flaxoptim_compat.parity import survey

    momentum = [each for each in survey.NAMESAKES if "Momentum" in each.legacy]
    monkeypatch.setattr(survey, "NAMESAKES", momentum[:1])
    assert main(["parity", word]) == 0
    out, err = capsys.readouterr()
    assert "to_optax does what flax.optim did, for all of these optimizers." in out
    assert err == ""

    def fails(progress: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(parity_runs, "matrix", fails)
    assert main(["parity", word]) == 2
    assert capsys.readouterr().err.startswith("flaxoptim-compat: RuntimeError")

from __future__ import annotations

import functools
import zipfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.observation.baseline import Trajectory
from flaxoptim_compat.parity import ParityError, assert_same_trajectory

PARAMS = {"w": np.ones((2, 3), np.float32), "b": np.zeros(3, np.float32)}


def test_the_assertion_returns_the_report() -> None:
    report = assert_same_trajectory(
        optim.Momentum(0.1), optax.sgd(0.1, 0.9), PARAMS, steps=4, tolerance=0
    )
    assert report.identical and report.steps == 4 and report.loop == "closed"


def test_the_message_of_the_assertion_is_the_table() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_same_trajectory(optax.sgd(0.1, 0.9), optax.sgd(0.1, 0.8), PARAMS, steps=4)
    assert str(caught.value).startswith("The two runs PART at step 2 of 4, in ")
    assert "leaf  quantity" in str(caught.value)


def test_the_model_of_a_trial_is_the_default() -> None:
    optimizer = optim.GradientDescent(0.1).create(PARAMS)
    assert [track.leaf for track in assert_same_trajectory(optimizer, optimizer).tracks] == [
        "b",
        "w",
    ]
    definition = optim.GradientDescent(0.1)
    report = assert_same_trajectory(definition, definition, loop="open")
    assert "conv/kernel" in {track.leaf for track in report.tracks}
    assert (report.steps, report.loop) == (100, "open")


def gradients(params: Any, step: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.cos(leaf + step), params)


def test_a_list_of_gradients_says_how_many_steps_there_are() -> None:
    known = [gradients(PARAMS, step) for step in range(7)]
    report = assert_same_trajectory(
        optim.Momentum(0.1), optax.sgd(0.1, 0.9), PARAMS, known, overrides={"learning_rate": 0.1}
    )
    assert report.steps == 7
    assert any("goes by its own learning_rate" in note for note in report.notes)


SIDES = {
    "optimizer": optim.Adam(0.1).create(PARAMS),
    "transformation": optax.adam(0.1),
    "train state": optim.Adam(0.1).create(PARAMS).to_train_state(),
    "parts": optim.MultiOptimizer(
        (optim.ModelParamTraversal(lambda path, value: "b" in path), optim.Adam(0.1)),
        (optim.ModelParamTraversal(lambda path, value: "w" in path), optim.Adam(0.1)),
    ),
}


@pytest.fixture(scope="module")
def old_baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("baselines") / "new" / "adam.npz"
    Trajectory(optim.Adam(0.1), PARAMS, gradients, steps=5).record(path)
    return path


def test_a_run_is_its_own_baseline_to_the_bit(old_baseline: Path) -> None:
    again = Trajectory(optim.Adam(0.1), PARAMS, gradients, steps=5)
    assert again.compared_with(old_baseline, tolerance=0).identical


@pytest.mark.parametrize("other", SIDES)
def test_a_baseline_of_the_old_optimizer_is_one_for_the_new(other: str, old_baseline: Path) -> None:
    path = old_baseline
    report = Trajectory(SIDES[other], PARAMS, gradients, steps=5).compared_with(path)
    assert report.equal and report.loop == "recorded" and not report.notes
    assert {track.quantity for track in report.tracks} == {"parameter", "mu", "nu"}


def test_a_baseline_is_written_anew_and_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sgd.npz"
    Trajectory(optim.Momentum(0.1), PARAMS, gradients, steps=2).record(path)
    before = path.read_bytes()
    assert zipfile.is_zipfile(path)
    with pytest.raises(ParityError, match="gradients for 1 of 2 steps"):
        Trajectory(optim.Momentum(0.1), PARAMS, [PARAMS], steps=2).record(path)
    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]
    Trajectory(optim.Momentum(0.2), PARAMS, gradients, steps=2).record(path)
    assert path.read_bytes() != before and [*tmp_path.iterdir()] == [path]


def test_another_start_is_said(tmp_path: Path) -> None:
    path, sgd = tmp_path / "sgd.npz", optax.sgd(0.1, 0.9)
    Trajectory(sgd, PARAMS, gradients, steps=4).record(path)
    params = {**PARAMS, "b": np.ones(3, np.float32)}
    report = Trajectory(sgd, params, gradients, steps=4).compared_with(path)
    assert report.notes == ("The runs do not start from the same parameters.",)
    report = Trajectory(optax.sgd(0.2, 0.9), PARAMS, gradients, steps=4).compared_with(path)
    assert not report.equal and not report.notes
    assert report.first_parting is not None and report.first_parting.step == 1
    assert [np.shape(value) for value in report.first_parting.values] == [(), ()]


def test_a_training_that_enlarges_roundings_tells_nothing(tmp_path: Path) -> None:
    """The logistic map at 3.9: a difference of one unit in the last place has grown to all."""
    path = tmp_path / "map.npz"

    def mapped(params: Any, step: Any, factor: float = 3.9) -> Any:
        return {"x": params["x"] - factor * params["x"] * (1 - params["x"])}

    def otherwise(params: Any, step: Any) -> Any:
        return {"x": params["x"] - (3.9 * params["x"] - 3.9 * params["x"] ** 2)}

    start = {"x": np.full(3, 0.3, np.float32)}
    Trajectory(optax.sgd(1.0), start, mapped, steps=60).record(path)
    assert Trajectory(optax.sgd(1.0), start, otherwise, steps=60).compared_with(path).equal
    other = functools.partial(mapped, factor=3.91)
    assert not Trajectory(optax.sgd(1.0), start, other, steps=60).compared_with(path).equal


def test_baselines_that_cannot_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "sgd.npz"
    Trajectory(optim.Momentum(0.1), PARAMS, gradients, steps=4).record(path)
    with pytest.raises(ParityError, match="has 4 steps, and the run is to have 5"):
        Trajectory(optim.Momentum(0.1), PARAMS, gradients, steps=5).compared_with(path)
    with pytest.raises(ParityError):
        Trajectory(optim.Momentum(0.1), {"w": PARAMS["w"]}, gradients, 4).compared_with(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ParityError, match=r"sgd\.npz"):
        Trajectory(optim.Momentum(0.1), PARAMS, gradients, steps=4).compared_with(path)


def test_hyper_parameters_of_each_step(tmp_path: Path) -> None:
    path = tmp_path / "sgd.npz"
    rates = {"learning_rate": [0.1, 0.2, 0.3]}
    old = Trajectory(optim.Momentum(0.1), PARAMS, gradients, 3, rates)
    old.record(path)
    injected = optax.inject_hyperparams(optax.sgd)(0.1, 0.9)
    assert Trajectory(injected, PARAMS, gradients, 3, rates).compared_with(path).equal
    assert not Trajectory(injected, PARAMS, gradients, 3).compared_with(path).equal

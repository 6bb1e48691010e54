"""An optimizer of the other package, or of a recording, that goes on with the same numbers."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity.counterparts import counterpart, recorded_optimizer
from flaxoptim_compat.parity.recordings import recorder
from flaxoptim_compat.parity.recordings.recording import Recording
from tests.support.cases import CASES, Case, case, gradients
from tests.support.side_by_side import assert_same


def hyper_params(definition: Any) -> Any:
    found = definition.hyper_params
    each = found if isinstance(found, list) else [found]
    return [dataclasses.asdict(one) for one in each]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_definition_has_the_same_hyper_params(case: Case, genuine: Any) -> None:
    ours = case.build(optim)
    assert counterpart(ours, optim) is ours
    theirs = counterpart(ours, genuine)
    expected = case.build(genuine)
    assert type(theirs) is type(expected)
    assert hyper_params(theirs) == hyper_params(expected)
    params = case.parameters()
    assert_same(theirs.init_state(params), expected.init_state(params))
    assert getattr(theirs, "dtype_momentum", None) == getattr(expected, "dtype_momentum", None)


class Adam(optim.Adam):
    """A user's own, which may do anything."""


EVERYTHING = optim.ModelParamTraversal(lambda path, leaf: True)


def test_classes_of_the_user_have_none(genuine: Any) -> None:
    assert counterpart(optim.Adam(0.1), genuine) is not None
    assert counterpart(Adam(0.1), genuine) is None
    assert counterpart(optim.WeightNorm(Adam(0.1)), genuine) is None
    assert counterpart(optim.MultiOptimizer((EVERYTHING, Adam(0.1))), genuine) is None


@pytest.mark.parametrize(
    "name", ["Adam-all", "Adafactor-all", "MultiOptimizer-two", "WeightNorm-over_Adam"]
)
def test_an_optimizer_goes_on_where_it_is(name: str, genuine: Any) -> None:
    each = case(name)
    theirs = each.build(genuine).create(each.parameters())
    for step in range(2):
        theirs = theirs.apply_gradient(gradients(step, theirs.target))
    ours = counterpart(theirs, optim)
    assert type(ours) is optim.Optimizer and ours.state.step == 2
    assert counterpart(ours, optim) is ours
    assert_same(counterpart(ours, genuine), theirs)
    grads = gradients(2, theirs.target)
    assert_same(ours.apply_gradient(grads).target, theirs.apply_gradient(grads).target, 8.0)


def test_a_copy_of_the_files_is_known_and_what_it_lacks_is_not_made_up(genuine: Any) -> None:
    class Copied:
        Momentum = genuine.Momentum
        OptimizerDef = genuine.OptimizerDef

    ours = optim.Momentum(0.1, nesterov=True)
    assert type(counterpart(ours, Copied)) is genuine.Momentum
    assert counterpart(optim.Adam(0.1), Copied) is None


# --- of recordings

PARAMS = {"dense": {"kernel": np.full((4, 6), 0.5, np.float32), "bias": np.ones(6, np.float32)}}


def recorded(definition: Any, path: Path, steps: int = 2) -> Recording:
    """Updates number 3 and 4, recorded in this process."""
    optimizer = definition.create(jax.tree.map(jnp.asarray, PARAMS))
    with zipfile.ZipFile(path, "w") as archive:
        recording = recorder.RecordingWriter(archive, steps)
        for i in range(3 + steps):
            if i == 3:
                recording.state(optimizer)
            grads = gradients(i, PARAMS)
            if i >= 3:
                recording.gradients(optimizer, grads, {})
            optimizer = optimizer.apply_gradient(grads)
            if i >= 3:
                recording.state(optimizer)
        recording.finish()
    return Recording.open(path)


@pytest.mark.parametrize(
    "name",
    [
        *("Adam-all", "Adafactor-all", "Adafactor-clipping_threshold", "Adagrad-default"),
        *("GradientDescent-default", "LARS-all", "RMSProp-centered", "WeightNorm-all"),
        "WeightNorm-over_Adam",
    ],
)
@pytest.mark.parametrize("package", ["genuine", "ours"])
def test_it_goes_on_as_it_was_recorded(
    name: str, package: str, genuine: Any, tmp_path: Path
) -> None:
    definition = case(name).build(genuine if package == "genuine" else optim)
    # The genuine ones run operation by operation, ours are compiled.
    ulps = 4.0 if package == "genuine" else 0.0
    with recorded(definition, tmp_path / "out.npz") as recording:
        optimizer = recorded_optimizer(recording)
        assert type(optimizer.optimizer_def) is getattr(optim, type(definition).__name__)
        assert optimizer.state.step == 3
        for i in range(2):
            optimizer = optimizer.apply_gradient(recording.gradients(i))
            assert_same(optimizer.target, recording.params_after(i), ulps)


@pytest.mark.parametrize(
    "definition",
    [Adam(0.1), optim.MultiOptimizer((EVERYTHING, optim.Adam(0.1))), optim.WeightNorm(Adam(0.1))],
    ids=["subclass", "multi", "around a subclass"],
)
def test_what_is_not_surely_the_same_is_none(definition: Any, tmp_path: Path) -> None:
    with recorded(definition, tmp_path / "out.npz") as recording:
        assert recorded_optimizer(recording) is None


def test_what_does_not_fit_is_none(tmp_path: Path) -> None:
    with recorded(optim.Adam(0.1), tmp_path / "out.npz") as recording:
        good = dict(recording.definition)
        for changes in (
            {"class": "Momentum"},
            {"class": "__doc__"},
            {"class": None},
            {"module": None},
            {"module": "theirs.adam"},
            {"hyper_params": {**good["hyper_params"], "warmup": 3}},
            {"hyper_params": None},
            {"parts": [good]},
            {"parts": 3},
        ):
            recording.definition = {**good, **changes}
            assert recorded_optimizer(recording) is None, changes
        recording.definition = {}
        assert recorded_optimizer(recording) is None


def test_parameters_alone_have_no_optimizer(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "out.npz", "w") as archive:
        recording = recorder.RecordingWriter(archive, 1)
        recording.state(PARAMS)
        recording.gradients(PARAMS, PARAMS, {})
        recording.state(PARAMS)
        recording.finish()
    with Recording.open(tmp_path / "out.npz") as found:
        assert recorded_optimizer(found) is None

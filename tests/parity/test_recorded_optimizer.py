"""From the start of a recording, the same definition goes on with the same numbers."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity.counterparts import recorded_optimizer
from flaxoptim_compat.parity.recordings import recorder
from flaxoptim_compat.parity.recordings.recording import Recording
from tests.support.cases import case, gradients
from tests.support.side_by_side import assert_same

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


class Adam(optim.Adam):
    """A user's own, which may do anything."""


def everything() -> optim.ModelParamTraversal:
    return optim.ModelParamTraversal(lambda path, leaf: True)


@pytest.mark.parametrize(
    "definition",
    [Adam(0.1), optim.MultiOptimizer((everything(), optim.Adam(0.1))), optim.WeightNorm(Adam(0.1))],
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

"""A recording of made-up numbers, with all that can be in one."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from flaxoptim_compat.parity.recordings import recorder
from flaxoptim_compat.parity.recordings.recording import Recording
from tests.support.checkpoint_trees import described

STEPS = 3


def half(factor: float) -> np.ndarray[Any, Any]:
    return (np.asarray([0.5, -2.0]) * factor).astype(ml_dtypes.bfloat16)


class Momentum:
    """As little as the recorder takes for a definition."""

    hyper_params = None


class State:
    """What an optimizer keeps."""

    def __init__(self, step: int, param_states: Any) -> None:
        self.step, self.param_states = step, param_states


class Optimizer:
    """What the recorder takes for an optimizer."""

    def __init__(self, i: int) -> None:
        self.optimizer_def = Momentum()
        self.target = {"b": [half(i), np.full((2, 1), i, np.float32)], "a": np.float64(i)}
        kept = {"mu": np.full(2, i / 2)}
        self.state = State(i + 5, {"b": [kept, None], "a": {"mu": np.float64(i), "count": i}})


def program() -> Any:
    """Optimizer, gradients and hyper-parameters of each step."""
    for i in range(STEPS + 1):
        grads = {"a": np.float64(-i), "b": [half(i / 8), np.full((2, 1), i / 4, np.float32)]}
        yield Optimizer(i), grads, {"learning_rate": 0.5 / (i + 1)}


def write(path: Path) -> None:
    """Make the file."""
    with zipfile.ZipFile(path, "w") as archive:
        recording = recorder.RecordingWriter(archive, STEPS)
        recorder._record_yields(program(), recording)
        recording.finish()


def everything(path: Path) -> Any:
    """All there is in a recording, comparable with ==."""
    with Recording.open(path) as recording:
        found = [
            [recording.gradients(i), recording.params_after(i), recording.moments_after(i)]
            for i in range(recording.steps)
        ]
        begin = [recording.params, recording.start_moments, recording.overrides]
        rest = [recording.names, recording.definition, recording.versions, recording.start_step]
        return described([found, begin, rest])

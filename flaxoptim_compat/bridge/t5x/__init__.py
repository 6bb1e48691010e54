"""T5X's shape of training state, around an optimizer of this package.

The classes have the fields, methods, exceptions and state dicts of ``t5x.train_state``.
"""

from __future__ import annotations

from flaxoptim_compat.bridge.t5x.flax_optim import FlaxOptimTrainState
from flaxoptim_compat.bridge.t5x.inference import InferenceState
from flaxoptim_compat.bridge.t5x.logical_axes import with_logical_axes
from flaxoptim_compat.bridge.t5x.protocol import TrainState
from flaxoptim_compat.bridge.t5x.variables import EMPTY_DICT

__all__ = [
    "EMPTY_DICT",
    "FlaxOptimTrainState",
    "InferenceState",
    "TrainState",
    "with_logical_axes",
]

"""T5X's training state of a small model, with and without FrozenDicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flax import core
from flax.linen.partitioning import AxisMetadata

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import t5x
from tests.support import t5x_models as models

Freeze = Callable[[Any], Any]
MUTABLES = {"batch_stats": {"mean": np.ones(3, np.float32)}, "cache": {"dense": {"k": np.ones(4)}}}
CACHE_AXES = {"dense": {"k_axes": AxisMetadata(names=("embed",))}}


def unfrozen(tree: Any) -> Any:
    return tree


both_dicts = pytest.mark.parametrize("freeze", [core.freeze, unfrozen], ids=["frozen", "dict"])


def make(freeze: Freeze = unfrozen, **collections: Any) -> t5x.FlaxOptimTrainState:
    definition = optim.Momentum(learning_rate=0.1, beta=0.9)
    return t5x.FlaxOptimTrainState.create(definition, freeze(models.variables(**collections)))

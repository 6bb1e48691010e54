"""Optimizers as programs kept them in checkpoints: one for each layout of the state."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import flax

from flaxoptim_compat import optim
from tests.support.cases import CASES, case

# One case for each layout of the state.
LAYOUTS = [
    *(entry for entry in CASES if entry.name.endswith("-default")),
    *(entry for entry in CASES if entry.name.startswith(("WeightNorm-over", "MultiOptimizer"))),
    case("Adafactor-bf16_momentum"),
    case("RMSProp-centered"),
]


@flax.struct.dataclass
class TrainState:
    """What a program around the optimizer keeps in its checkpoints."""

    optimizer: optim.Optimizer
    step: Any


@contextlib.contextmanager
def checkpointing_with_orbax(enabled: bool) -> Iterator[None]:
    """Let ``flax.training.checkpoints`` write orbax directories, or msgpack files."""
    before = flax.config.flax_use_orbax_checkpointing
    flax.config.update("flax_use_orbax_checkpointing", enabled)
    yield
    flax.config.update("flax_use_orbax_checkpointing", before)

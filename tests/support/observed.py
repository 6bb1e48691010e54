"""This process, observed as the processes of an observed command are."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from pathlib import Path

import flax
from flax.training import train_state
from packaging.version import Version

from flaxoptim_compat.observation import record
from flaxoptim_compat.observation.probing import Prober
from flaxoptim_compat.optim import base, optimizer

# Before that, nnx is elsewhere, and is not observed.
HAS_NNX = Version(flax.__version__) >= Version("0.10")
_NNX = ("flax.nnx.training.optimizer", "flax.nnx.transforms.compilation") if HAS_NNX else ()


def recording(folder: Path) -> AbstractContextManager[record.StateRecorder]:
    """Record the states of this process for a block, in a folder."""
    modules = base, optimizer, train_state, *map(importlib.import_module, _NNX)
    return record.recording(str(folder), *modules, probing=Prober)

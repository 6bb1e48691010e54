"""This process, observed as the processes of an observed command are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from flax.nnx.training import optimizer as nnx_optimizer
from flax.nnx.transforms import compilation
from flax.training import train_state

from flaxoptim_compat.observation import record
from flaxoptim_compat.observation.probing import Prober
from flaxoptim_compat.optim import base, optimizer


def recording(folder: Path) -> AbstractContextManager[record.StateRecorder]:
    """Record the states of this process for a block, in a folder."""
    modules = base, optimizer, train_state, nnx_optimizer, compilation
    return record.recording(str(folder), *modules, probing=Prober)

"""Checkpoint files: reading and writing them array by array, without jax and without flax.

``open_checkpoint`` reads msgpack and npz files, orbax directories and directories of checkpoints;
``write_checkpoint`` writes msgpack files and orbax directories. Whatever is wrong with a checkpoint
is a ``CheckpointError``, here and in all that is made of this.
"""

from flaxoptim_compat.checkpoint_files.flax_directory import Step
from flaxoptim_compat.checkpoint_files.opening import Checkpoint, open_checkpoint
from flaxoptim_compat.checkpoint_files.stored import (
    CheckpointError,
    StoredArray,
    StoredList,
    Tree,
    array_in_memory,
)
from flaxoptim_compat.checkpoint_files.writing import write_checkpoint

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Step",
    "StoredArray",
    "StoredList",
    "Tree",
    "array_in_memory",
    "open_checkpoint",
    "write_checkpoint",
]

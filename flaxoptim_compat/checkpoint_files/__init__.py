"""Reads and writes checkpoint files array by array, without jax and without flax.

``open_checkpoint`` reads msgpack and npz files, orbax directories and directories of checkpoints.
``write_checkpoint`` writes msgpack files and orbax directories. Any fault of a checkpoint is a
``CheckpointError``, here and in the rooms above.
"""

from flaxoptim_compat.checkpoint_files.flax_directory import StepCheckpoint
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
    "StepCheckpoint",
    "StoredArray",
    "StoredList",
    "Tree",
    "array_in_memory",
    "open_checkpoint",
    "write_checkpoint",
]

"""Compares the size of arrays in the metadata with the size of files, before memory is taken."""

from __future__ import annotations

from pathlib import Path

from flaxoptim_compat.checkpoint_files.stored import CheckpointError

# Compression makes weights smaller by a tenth only, and not all arrays are zeros.
_LARGEST_EXPANSION = 100
# Every machine has this much memory. Checkpoints of small tests and first steps may be all zeros.
_WITHOUT_QUESTION = 2**28


def refuse_unaccounted(path: Path, promised: int, stored: int) -> None:
    """Refuse arrays that are much larger than their files: compressed, or left out as zeros.

    Args:
      path: the file or directory, for messages.
      promised: the total size of the arrays, from the metadata.
      stored: the total size of the files.

    Raises:
      CheckpointError: the arrays are too large for any real checkpoint of this size.
    """
    if promised > most_accounted_for(stored):
        raise CheckpointError(
            f"{path} has {stored:,} bytes, and promises arrays of {promised:,} bytes: over"
            f" {_LARGEST_EXPANSION} times as much, which no training leaves behind. If a part was"
            " lost on the way here, copy the checkpoint again; if not, use an earlier one."
        )


def most_accounted_for(stored: int) -> int:
    """The largest size in memory that is accepted for files of this size."""
    return max(_WITHOUT_QUESTION, stored * _LARGEST_EXPANSION)

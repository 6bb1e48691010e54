"""Compare the bytes that metadata promise with those that are there, before memory is taken."""

from __future__ import annotations

from pathlib import Path

from flaxoptim_compat.checkpoint_files.stored import CheckpointError

# Weights shrink by a tenth, and those that are all zero stand beside others that are not.
_LARGEST_EXPANSION = 100
# So much any machine has: small tests and first steps consist of zeros.
_WITHOUT_QUESTION = 2**28


def refuse_unaccounted(path: Path, promised: int, stored: int) -> None:
    """Refuse arrays that a small checkpoint cannot hold: compressed, or left out as zeros.

    Args:
      path: the file or directory, for messages.
      promised: how many bytes its arrays are to have together.
      stored: how many bytes it has.

    Raises:
      CheckpointError: so much more is promised that it cannot be a checkpoint.
    """
    if promised > most_accounted_for(stored):
        raise CheckpointError(
            f"{path} has {stored:,} bytes, and promises arrays of {promised:,} bytes: over"
            f" {_LARGEST_EXPANSION} times as much, which no training leaves behind. If a part of it"
            " was lost on its way here, copy it again; if not, use an earlier one."
        )


def most_accounted_for(stored: int) -> int:
    """The most bytes in memory that so many bytes in files may become."""
    return max(_WITHOUT_QUESTION, stored * _LARGEST_EXPANSION)

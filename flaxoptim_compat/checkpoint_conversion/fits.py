"""Checks, before a converted checkpoint is written, that a program can restore it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray

_ADVICE = (
    " Nothing was written. Give the optimizer of the new program with --definition, and the place"
    " of its learning rate with --rate: settable for inject_hyperparams, fixed for a number,"
    " scheduled for a function of the step."
)


def refuse_misfits(tree: Any, state: Any) -> None:
    """Compare a converted checkpoint with the state into which the new program restores.

    Args:
      tree: the checkpoint.
      state: a TrainState, or a tree around it.

    Raises:
      CheckpointError: Flax would refuse to restore it, or an array has another shape or dtype.
    """
    try:
        restored = serialization.from_state_dict(state, tree)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"The result does not fit the state of --fits: Flax would refuse it with {error!r}."
            f"{_ADVICE}"
        ) from error
    expected, _ = jax.tree_util.tree_flatten_with_path(state)
    leaves = jax.tree.leaves(restored, is_leaf=lambda leaf: isinstance(leaf, StoredArray))
    for (path, expected_leaf), leaf in zip(expected, leaves, strict=True):
        if _described(leaf) != _described(expected_leaf):
            raise CheckpointError(
                f"The result does not fit the state of --fits: {jax.tree_util.keystr(path)} is"
                f" {_described(leaf)} in the result, and {_described(expected_leaf)} in the state."
                f"{_ADVICE}"
            )


def _described(leaf: Any) -> str:
    shape = getattr(leaf, "shape", np.shape(leaf))
    # A Python number, such as the step of TrainState.create, can be restored from any number.
    dtype = getattr(leaf, "dtype", None)
    return f"{dtype} of shape {shape}" if shape else "a number"

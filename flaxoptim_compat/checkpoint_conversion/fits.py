"""Check that a converted checkpoint fits what a program restores into, before it is written."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray

_ADVICE = (
    " Nothing was written. The new program and --definition are to be the same optimizer, and"
    " --rate says where the new program has its learning rate: settable for inject_hyperparams,"
    " fixed for a number, scheduled for a function of the step."
)


def refuse_misfits(tree: Any, state: Any) -> None:
    """Compare a converted checkpoint with what the new program restores into.

    Args:
      tree: the checkpoint.
      state: a TrainState, or whatever there is around it.

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
    found = jax.tree.leaves(restored, is_leaf=lambda leaf: isinstance(leaf, StoredArray))
    for (path, mine), its in zip(expected, found, strict=True):
        if _described(mine) != _described(its):
            raise CheckpointError(
                f"The result does not fit the state of --fits: {jax.tree_util.keystr(path)} is"
                f" {_described(its)} in the result, and {_described(mine)} in the state.{_ADVICE}"
            )


def _described(leaf: Any) -> str:
    shape = getattr(leaf, "shape", np.shape(leaf))
    # A number of Python, such as the step of TrainState.create, takes any number.
    dtype = getattr(leaf, "dtype", None)
    return f"{dtype} of shape {shape}" if shape else "a number"

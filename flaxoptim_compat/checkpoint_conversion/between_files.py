"""Converts one checkpoint file to another, and reports the conversion."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat.checkpoint_conversion.conversion_report import report
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings, convert
from flaxoptim_compat.checkpoint_files.opening import open_checkpoint
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray
from flaxoptim_compat.checkpoint_files.writing import write_checkpoint

_ADVICE = (
    " Nothing was written. Give the optimizer of the new program with --definition, and the place"
    " of its learning rate with --rate: settable for inject_hyperparams, fixed for a number,"
    " scheduled for a function of the step."
)


def convert_checkpoint(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    settings: ConversionSettings,
    *,
    format_: Literal["msgpack", "orbax"] | None = None,
    fits: Any = None,
    shown: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Write a checkpoint again with its optimizers in another form; returns a report.

    After an error the source is unchanged, and there is no destination.

    Args:
      source: a checkpoint for ``open_checkpoint``.
      destination: the file or directory to write; must not exist.
      settings: the form, and all other settings of the conversion.
      format_: the format of the destination; None for that of the source, or msgpack for npz.
      fits: the state into which the new program restores, to compare the result with; or None.
      shown: the path of the destination that the report names, if that will be another one.
      progress: called with the bytes of arrays written so far, and the bytes in total.
    """
    with open_checkpoint(source) as checkpoint:
        if format_ is None:
            format_ = "orbax" if checkpoint.format == "orbax" else "msgpack"
        tree, converted = convert(checkpoint.tree, settings)
        if fits is not None:
            refuse_misfits(tree, fits)
        # The report reads numbers of the source, which may be damaged: no destination exists yet.
        path = os.fspath(destination) if shown is None else shown
        text = report(path, tree, format_, settings.to, converted, fits is not None)
        # NNX restores a list as a mapping with numbers for names.
        write_checkpoint(destination, tree, format_, progress, sequences=settings.to != "nnx")
        return text


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

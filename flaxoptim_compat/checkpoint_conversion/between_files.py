"""Converts one checkpoint file to another, and reports the conversion."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from flaxoptim_compat.checkpoint_conversion.conversion_report import report
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings, convert
from flaxoptim_compat.checkpoint_conversion.fits import refuse_misfits
from flaxoptim_compat.checkpoint_files.opening import open_checkpoint
from flaxoptim_compat.checkpoint_files.writing import write_checkpoint


def convert_checkpoint(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    settings: ConversionSettings,
    *,
    format_: Literal["msgpack", "orbax"] | None = None,
    fits: Any = None,
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
      progress: called with the bytes of arrays written so far, and the bytes in total.
    """
    with open_checkpoint(source) as checkpoint:
        if format_ is None:
            format_ = "orbax" if checkpoint.format == "orbax" else "msgpack"
        tree, converted = convert(checkpoint.tree, settings)
        if fits is not None:
            refuse_misfits(tree, fits)
        # The report reads numbers of the source, which may be damaged: no destination exists yet.
        text = report(os.fspath(destination), tree, format_, settings.to, converted)
        # NNX restores a list as a mapping with numbers for names.
        write_checkpoint(destination, tree, format_, progress, sequences=settings.to != "nnx")
        return text

"""From one checkpoint file to another, with a report of what was done."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from flaxoptim_compat.checkpoint_conversion.conversion_report import report
from flaxoptim_compat.checkpoint_conversion.convert import Settings, convert
from flaxoptim_compat.checkpoint_conversion.fits import refuse_misfits
from flaxoptim_compat.checkpoint_files.opening import open_checkpoint
from flaxoptim_compat.checkpoint_files.writing import write_checkpoint


def convert_checkpoint(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    settings: Settings,
    *,
    format_: Literal["msgpack", "orbax"] | None = None,
    fits: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Write a checkpoint again with its optimizers in another form; what was done, as text.

    If it cannot be done, the source is as it was, and there is no destination.

    Args:
      source: what ``open_checkpoint`` opens.
      destination: what to write; it must not exist.
      settings: the form, and what else the conversion is told.
      format_: how to write it; as the source if None, and msgpack for npz.
      fits: what the new program restores into; None if that is not to be compared.
      progress: called with the bytes of arrays written so far, and those in total.
    """
    with open_checkpoint(source) as checkpoint:
        if format_ is None:
            format_ = "orbax" if checkpoint.format == "orbax" else "msgpack"
        tree, converted = convert(checkpoint.tree, settings)
        if fits is not None:
            refuse_misfits(tree, fits)
        # Before there is a destination: it reads numbers of the source, which may be damaged.
        text = report(os.fspath(destination), tree, format_, settings.to, converted)
        # What NNX restores is a mapping with numbers for names.
        write_checkpoint(destination, tree, format_, progress, sequences=settings.to != "nnx")
        return text

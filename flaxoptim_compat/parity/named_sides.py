"""Sides and parameters of a comparison that a text on the command line names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StoredArray,
    StoredList,
    open_checkpoint,
)
from flaxoptim_compat.legacy.named_code import NamedCode
from flaxoptim_compat.legacy.named_objects import named, shortened
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.sides import side


def named_side(text: str, code: NamedCode) -> Any:
    """The object that a text names, which can stand on a side of a comparison.

    Args:
      text: as for ``named``.
      code: runs the user's code.

    Raises:
      NamingError: there is no such object, or the user's code fails.
      ParityError: the object cannot be compared.
    """
    subject = named(text, code)
    try:
        side(subject)
    except ParityError as error:
        raise ParityError(f"{shortened(text)}: {error}") from error
    return subject


def named_parameters(text: str, code: NamedCode) -> Any:
    """The parameters that a text names: an object, or those in a file.

    Args:
      text: a checkpoint, or what ``named`` takes.
      code: runs the user's code.

    Raises:
      NamingError: there is no such object, or the user's code fails.
      ParityError: there are no parameters in the file, or those of several optimizers.
    """
    # Unlike Path.exists, os.path.exists is False for an expression longer than a name can be.
    path = Path(os.path.expanduser(text))
    if not os.path.exists(path):
        return named(text, code)
    try:
        return _parameters_in(path)
    except CheckpointError as error:
        raise ParityError(str(error)) from error


def _parameters_in(path: Path) -> Any:
    """The parameters of the optimizer in a checkpoint; without one, its ``params`` or all of it."""
    from flaxoptim_compat.checkpoint_contents.recognise import find_optimizers

    with open_checkpoint(path) as checkpoint:
        optimizers = find_optimizers(checkpoint.tree)
        if len(optimizers) > 1:
            places = ", ".join(optimizer.place for optimizer in optimizers)
            raise ParityError(
                f"{path} has {len(optimizers)} optimizers in it, at {places}. Write a function that"
                " returns the parameters, and name it as MODULE:FUNCTION."
            )
        if optimizers:
            return _in_memory(optimizers[0].node[optimizers[0].entry_of_parameters], path)
        tree = checkpoint.tree
        return _in_memory(
            tree["params"] if isinstance(tree, Mapping) and "params" in tree else tree, path
        )


def _in_memory(node: Any, path: Path) -> Any:
    if isinstance(node, StoredList):
        return [_in_memory(child, path) for child in node.values()]
    if isinstance(node, Mapping):
        return {name: _in_memory(child, path) for name, child in node.items()}
    if isinstance(node, StoredArray):
        return jnp.asarray(node.read())
    if isinstance(node, int | float | complex | None):
        return node
    raise ParityError(f"{path} has {type(node).__name__} in it where there should be parameters.")

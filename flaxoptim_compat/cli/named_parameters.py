"""The parameters that the user names on the command line."""

from __future__ import annotations

from typing import Any

import jax

from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.legacy.named_code import NamedCode, failure


def parameters_named(text: str) -> Any:
    """A tree of arrays, or of their shapes.

    Args:
      text: ``MODULE:NAME`` of it, or of a function that returns it. The module is looked for in the
        current directory first, and may import ``flax.optim``.

    Raises:
      CheckpointError: there is no such name, it fails, or has something else in it.
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise CheckpointError(
            f"--like {text}: write MODULE:NAME, such as train:parameters for `parameters` in"
            " train.py, or for the function parameters() there."
        )
    try:
        with NamedCode() as code:
            found = code.of_module(module, name)
            found = found() if callable(found) else found
    except (Exception, SystemExit) as error:
        raise CheckpointError(f"--like {text}: {failure(error)}") from error
    leaves = jax.tree.leaves(found)
    wrong = [type(leaf).__name__ for leaf in leaves if not hasattr(leaf, "shape")]
    if wrong or not leaves:
        raise CheckpointError(
            f"--like {text}: this is, or returns, a tree of {(wrong or ['nothing'])[0]}, not of"
            " parameters, such as model.init(...)['params']."
        )
    return found

"""The definitions, the state and the parameters that ``checkpoint convert`` is told by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import optax

from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.legacy.named_code import NamedCode
from flaxoptim_compat.legacy.named_objects import NamingError, named
from flaxoptim_compat.optim import OptimizerDef

_KINDS = (OptimizerDef, optax.GradientTransformation)


def object_named(option: str, text: str) -> Any:
    """The object that an option names, or what it returns if it can be called.

    Args:
      option: its name, for messages.
      text: ``MODULE:NAME``, ``FILE.py:NAME`` or an expression. The user's code may import
        ``flax.optim``, and the current directory is searched first.

    Raises:
      CheckpointError: there is no such thing, or the user's code fails.
    """
    try:
        with NamedCode() as code:
            return named(text, code)
    except NamingError as error:
        raise CheckpointError(f"{option} {error}") from error


def definitions_named(text: str) -> Any:
    """A legacy definition or an optax transformation, or a dict of them.

    Raises:
      CheckpointError: the text names no such thing.
    """
    found = object_named("--definition", text)
    definitions = list(found.values()) if isinstance(found, Mapping) else [found]
    wrong = [type(value).__name__ for value in definitions if not isinstance(value, _KINDS)]
    if wrong or not definitions:
        raise CheckpointError(
            f"--definition {text}: this is {(wrong or ['an empty dict'])[0]}, not a definition such"
            " as optim.Adam(learning_rate=0.001), nor an optax transformation, nor a dict of such"
            " by the paths of the optimizers."
        )
    return found


def parameters_named(text: str) -> Any:
    """A tree of parameters, or of their shapes, or a dict of such.

    Raises:
      CheckpointError: the text names no such thing.
    """
    found = object_named("--like", text)
    leaves = jax.tree.leaves(found)
    wrong = [type(leaf).__name__ for leaf in leaves if not hasattr(leaf, "shape")]
    if wrong or not leaves:
        raise CheckpointError(
            f"--like {text}: this is a tree of {(wrong or ['nothing'])[0]}, not of parameters, such"
            " as model.init(...)['params']."
        )
    return found

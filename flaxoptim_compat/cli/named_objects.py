"""Definitions, states and parameters that the user names on the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import jax
import optax

from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.legacy.named_code import NamedCode, failure
from flaxoptim_compat.optim import OptimizerDef
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.named_sides import named

# What a user may have called it.
_EXAMPLES = {"--fits": "new_state", "--like": "parameters"}
_KINDS = (OptimizerDef, optax.GradientTransformation)


def definitions_named(text: str) -> Any:
    """A legacy definition or an optax transformation, or a dict of them.

    Args:
      text: ``MODULE:NAME`` of it, or of a function that returns it; or an expression as ``parity``
        has them. The module is looked for in the current directory first, and may import
        ``flax.optim``.

    Raises:
      CheckpointError: there is no such name, what it means fails, or is or returns something else.
    """
    module, colon, name = text.partition(":")
    if "(" in text:
        found, gave = _value(text), "this is"
    elif module and colon and name:
        found, gave = _named("--definition", text)
    else:
        raise CheckpointError(
            f"--definition {text}: write MODULE:NAME, such as train:definition for `definition` in"
            " train.py, or for the function definition() there; or an expression such as"
            " 'optim.Adam(0.001)'."
        )
    each = list(found.values()) if isinstance(found, Mapping) else [found]
    wrong = [type(value).__name__ for value in each if not isinstance(value, _KINDS)]
    if wrong or not each:
        raise CheckpointError(
            f"--definition {text}: {gave} {(wrong or ['an empty dict'])[0]}, not a"
            " definition such as optim.Adam(learning_rate=0.001), nor an optax transformation, nor"
            " a dict of such by the paths of the optimizers."
        )
    return found


def _value(text: str) -> Any:
    try:
        with NamedCode() as code:
            return named(text, code)
    except ParityError as error:
        raise CheckpointError(f"--definition {error}") from error


def state_named(text: str) -> Any:
    """The object that the new program restores into: a TrainState, or what there is around it.

    Args:
      text: ``MODULE:NAME`` of it, or of a function that returns it.

    Raises:
      CheckpointError: there is no such name, or what it means fails.
    """
    state, _ = _named("--fits", text)
    return state


def parameters_named(text: str) -> Any:
    """A tree of parameters, or of their shapes, or a dict of such.

    Args:
      text: ``MODULE:NAME`` of it, or of a function that returns it.

    Raises:
      CheckpointError: there is no such name, what it means fails, or has something else in it.
    """
    found, gave = _named("--like", text)
    leaves = jax.tree.leaves(found)
    wrong = [type(leaf).__name__ for leaf in leaves if not hasattr(leaf, "shape")]
    if wrong or not leaves:
        raise CheckpointError(
            f"--like {text}: {gave} a tree of {(wrong or ['nothing'])[0]}, not of parameters, such"
            " as model.init(...)['params']."
        )
    return found


def _named(option: str, text: str) -> tuple[Any, str]:
    """The object of a name in a module, or what it returns; and words that say which it is."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise CheckpointError(
            f"{option} {text}: write MODULE:NAME, such as train:{_EXAMPLES[option]} for"
            f" `{_EXAMPLES[option]}` in train.py, or for the function {_EXAMPLES[option]}() there."
        )
    module = module.removesuffix(".py").replace(os.sep, ".")
    try:
        with NamedCode() as code:
            found = code.of_module(module, name)
            if callable(found):
                return found(), "the function returned"
            return found, "this is"
    except (Exception, SystemExit) as error:
        raise CheckpointError(f"{option} {text}: {failure(error)}") from error

"""The definitions, the state and the parameters that ``checkpoint convert`` is told by name.

What it is not told is None.
"""

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


def object_named(option: str, text: str | None) -> Any:
    """The object that an option names, or the result of a call if that object is a function.

    Args:
      option: the name of the option, for messages.
      text: ``MODULE:NAME``, ``FILE.py:NAME`` or an expression. The user's code may import
        ``flax.optim``, and the current directory is searched first.

    Raises:
      CheckpointError: there is no such object, or the user's code fails.
    """
    if text is None:
        return None
    try:
        with NamedCode() as code:
            return named(text, code)
    except NamingError as error:
        raise CheckpointError(f"{option} {error}") from error


def definitions_named(text: str | None) -> Any:
    """The legacy definition, optax transformation or dict of these that a text names.

    Raises:
      CheckpointError: the text names something else.
    """
    if text is None:
        return None
    named_object = object_named("--definition", text)
    is_dict = isinstance(named_object, Mapping)
    definitions = list(named_object.values()) if is_dict else [named_object]
    wrong = [type(value).__name__ for value in definitions if not isinstance(value, _KINDS)]
    if wrong or not definitions:
        kind = f"of type `{wrong[0]}`" if wrong else "an empty dict"
        raise CheckpointError(
            f"--definition {text} is {kind}. Name a definition such as"
            " `optim.Adam(learning_rate=0.001)`, an optax transformation, or a dict of these by the"
            " paths of the optimizers."
        )
    return named_object


def parameters_named(text: str | None) -> Any:
    """The tree of parameters or of their shapes, or the dict of such trees, that a text names.

    Raises:
      CheckpointError: the text names something else.
    """
    if text is None:
        return None
    params = object_named("--like", text)
    leaves = jax.tree.leaves(params)
    wrong = [type(leaf).__name__ for leaf in leaves if not hasattr(leaf, "shape")]
    if wrong or not leaves:
        kind = f"with leaves of type `{wrong[0]}`" if wrong else "without leaves"
        raise CheckpointError(
            f"--like {text} is a tree {kind}. Name a tree of parameters, such as"
            " `model.init(...)['params']`."
        )
    return params

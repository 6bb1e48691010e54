"""The definition that the user names on the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import optax

from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.legacy.named_code import NamedCode, failure
from flaxoptim_compat.optim import OptimizerDef
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.named_sides import named

_KINDS = (OptimizerDef, optax.GradientTransformation)


def definitions_named(text: str) -> Any:
    """What a function returns: a legacy definition or an optax transformation, or a dict of them.

    Args:
      text: ``MODULE:FUNCTION``, or an expression as ``parity`` has them. The module is looked for
        in the current directory first, and may import ``flax.optim``.

    Raises:
      CheckpointError: there is no such function, it fails, or it returns something else.
    """
    module, colon, function = text.partition(":")
    if "(" in text:
        found = _value(text)
    elif module and colon and function:
        found = _call(text, module.removesuffix(".py").replace(os.sep, "."), function)
    else:
        raise CheckpointError(
            f"--definition {text}: write MODULE:FUNCTION, such as train:definition for the function"
            " definition() in train.py, or an expression such as 'optim.Adam(0.001)'."
        )
    gave = "this is" if "(" in text else "the function returned"
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


def _call(text: str, module: str, function: str) -> Any:
    try:
        with NamedCode() as code:
            return code.of_module(module, function)()
    except (Exception, SystemExit) as error:
        raise CheckpointError(f"--definition {text}: {failure(error)}") from error

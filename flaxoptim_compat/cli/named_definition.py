"""The definition that the user names on the command line: the one place that runs his code."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Mapping
from typing import Any

import optax

from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.deprecation import FlaxOptimDeprecationWarning
from flaxoptim_compat.legacy.installing import installed
from flaxoptim_compat.optim import OptimizerDef

_KINDS = (OptimizerDef, optax.GradientTransformation)


def definitions_named(text: str) -> Any:
    """What a function returns: a legacy definition or an optax transformation, or a dict of them.

    Args:
      text: ``MODULE:FUNCTION``. The module is looked for in the current directory first, and may
        import ``flax.optim``.

    Raises:
      CheckpointError: there is no such function, it fails, or it returns something else.
    """
    module, colon, function = text.partition(":")
    if not (module and colon and function):
        raise CheckpointError(
            f"--definition {text}: write MODULE:FUNCTION, such as train:definition for the function"
            " definition() in train.py."
        )
    found = _call(text, module.removesuffix(".py").replace(os.sep, "."), function)
    each = list(found.values()) if isinstance(found, Mapping) else [found]
    wrong = [type(value).__name__ for value in each if not isinstance(value, _KINDS)]
    if wrong or not each:
        raise CheckpointError(
            f"--definition {text}: the function returned {(wrong or ['an empty dict'])[0]}, not a"
            " definition such as optim.Adam(learning_rate=0.001), nor an optax transformation, nor"
            " a dict of such by the paths of the optimizers."
        )
    return found


def _call(text: str, module: str, function: str) -> Any:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        with installed(era=True), warnings.catch_warnings():
            warnings.simplefilter("ignore", FlaxOptimDeprecationWarning)
            return getattr(importlib.import_module(module), function)()
    except (Exception, SystemExit) as error:
        raise CheckpointError(f"--definition {text}: {_failure(error, here)}") from error
    finally:
        sys.path.remove(here)


def _failure(error: BaseException, here: str) -> str:
    """The error, and the line of the user's code that it came from."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(here + os.sep)
    ]
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}: {error}"

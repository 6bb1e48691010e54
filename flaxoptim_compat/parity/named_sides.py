"""Sides of a comparison, and parameters for it, that are named in a line of text."""

from __future__ import annotations

import os
import re
import textwrap
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StoredArray,
    StoredList,
    open_checkpoint,
)
from flaxoptim_compat.legacy.installing import existing_flax_optim
from flaxoptim_compat.legacy.named_code import NamedCode, failure
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.recordings.recording import Recording
from flaxoptim_compat.parity.sides import side

_IN_FILE = re.compile(r"(?P<file>.+\.py):(?P<name>[^\W\d][\w.]*)")
_IN_MODULE = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<name>[^\W\d][\w.]*)")
_MAY_BE_PATH = re.compile(r"[\w./~\\-]*[/\\][\w./~\\-]*|[\w-]+\.(npz|msgpack|ckpt|py)")

# By which an npz file is a recording.
_DESCRIPTION = "description/json.uint8.npy"
_FORMS = (
    "Write MODULE:NAME, or FILE.py:NAME, or an expression such as optim.Adam(0.001) or"
    " optax.adam(0.001)."
)
# The names in an expression: modules, and one function that optax_source() may print.
_MODULES = {
    "optim": "flaxoptim_compat.optim",
    "transforms": "flaxoptim_compat.transforms",
    "flaxoptim_compat": "flaxoptim_compat",
    "flax": "flax",
    "optax": "optax",
    "jax": "jax",
    "jnp": "jax.numpy",
    "np": "numpy",
}


def named(text: str, code: NamedCode) -> Any:
    """The object that a text names, made by calling it if it can be called; or the value of an
    expression.

    Args:
      text: ``MODULE:NAME``, ``FILE.py:NAME`` or an expression.
      code: runs the user's code.

    Raises:
      ParityError: there is no such thing, or the user's code fails; the message has his line.
    """
    try:
        subject = _found(text.strip(), code)
        return subject() if callable(subject) else subject
    except ParityError as error:
        raise ParityError(f"{_short(text)}: {error}") from error
    except (Exception, SystemExit) as error:
        raise ParityError(f"{_short(text)}: {failure(error)}{_hint(error)}") from error


def _found(text: str, code: NamedCode) -> Any:
    if match := _IN_FILE.fullmatch(text):
        path = Path(match["file"]).expanduser()
        if not path.is_file():
            raise ParityError(f"there is no file {path}.")
        return code.of_file(path, match["name"])
    if match := _IN_MODULE.fullmatch(text):
        return code.of_module(match["module"], match["name"])
    if os.path.exists(text):
        raise ParityError(f"this is a file, and does not say what in it to take. {_FORMS}")
    if _MAY_BE_PATH.fullmatch(text):
        raise ParityError(f"there is no such file. {_FORMS}")
    return _value_of(text)


def _value_of(expression: str) -> Any:
    try:
        compiled = compile(expression, "<expression>", "eval")
    except SyntaxError as error:
        raise ParityError(f"this is no Python expression: {error.msg}. {_FORMS}") from error
    if "flax.optim" in expression and existing_flax_optim() is not None:
        import_module("flax.optim")
    return eval(compiled, _names())


def _names() -> dict[str, Any]:
    from flax.core import freeze

    return {name: import_module(module) for name, module in _MODULES.items()} | {"freeze": freeze}


def _short(text: str) -> str:
    return textwrap.shorten(text, 80, placeholder=" ...")


def _hint(error: BaseException) -> str:
    if isinstance(error, NameError) and getattr(error, "name", None) is not None:
        return f". In an expression there are {', '.join(_MODULES)} and freeze"
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        return ". Write it as a module of its package, package.module:NAME"
    return ""


def named_side(text: str, code: NamedCode) -> Any:
    """The object that a text means, which must be one that can stand on a side of a comparison.

    Args:
      text: as for ``named``.
      code: runs the user's code.

    Raises:
      ParityError: there is no such thing, the user's code fails, or it is something else.
    """
    subject = named(text, code)
    try:
        side(subject)
    except ParityError as error:
        raise ParityError(f"{_short(text)}: {error}") from error
    return subject


def named_parameters(text: str, code: NamedCode) -> Any:
    """The parameters that a text means: as ``named``, or those in a file.

    Args:
      text: a file, which is a recording or a checkpoint, or what ``named`` takes.
      code: runs the user's code.

    Raises:
      ParityError: there are no such parameters.
    """
    # Unlike Path.exists, it knows that a long expression is no file.
    path = Path(os.path.expanduser(text))
    if not os.path.exists(path):
        return named(text, code)
    if _is_recording(path):
        with Recording.open(path) as recording:
            return recording.params
    try:
        return _parameters_in(path)
    except CheckpointError as error:
        raise ParityError(str(error)) from error


def _is_recording(path: Path) -> bool:
    # A pipe would be waited for.
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return _DESCRIPTION in archive.namelist()


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

"""The object that a line of text names: ``MODULE:NAME``, ``FILE.py:NAME`` or an expression."""

from __future__ import annotations

import os
import re
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

from flaxoptim_compat.legacy.installing import existing_flax_optim
from flaxoptim_compat.legacy.named_code import NamedCode, failure

_IN_FILE = re.compile(r"(?P<file>.+\.py):(?P<name>[^\W\d][\w.]*)")
_IN_MODULE = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<name>[^\W\d][\w.]*)")
_MAY_BE_PATH = re.compile(r"[\w./~\\-]*[/\\][\w./~\\-]*|[\w-]+\.(npz|msgpack|ckpt|py)")

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


class NamingError(ValueError):
    """A text names no object, or the user's code fails; the message begins with the text."""


def named(text: str, code: NamedCode) -> Any:
    """The object that a text names, or the value of an expression.

    An object that can be called is called, and the result is returned.

    Args:
      text: ``MODULE:NAME``, ``FILE.py:NAME`` or an expression.
      code: runs the user's code.

    Raises:
      NamingError: there is no such object, or the user's code fails; the message names the line.
    """
    try:
        subject = _named(text.strip(), code)
        return subject() if callable(subject) else subject
    except NamingError as error:
        raise NamingError(f"{shortened(text)}: {error}") from error
    except (Exception, SystemExit) as error:
        raise NamingError(f"{shortened(text)}: {failure(error)}{_hint(error)}") from error


def _named(text: str, code: NamedCode) -> Any:
    if match := _IN_FILE.fullmatch(text):
        path = Path(match["file"]).expanduser()
        if not path.is_file():
            raise NamingError(f"there is no file {path}.")
        return code.of_file(path, match["name"])
    if match := _IN_MODULE.fullmatch(text):
        return code.of_module(match["module"], match["name"])
    if os.path.exists(text):
        raise NamingError(f"the text names a file, but no object in the file. {_FORMS}")
    if _MAY_BE_PATH.fullmatch(text):
        raise NamingError(f"there is no such file. {_FORMS}")
    return _value_of(text)


def _value_of(expression: str) -> Any:
    try:
        compiled = compile(expression, "<expression>", "eval")
    except SyntaxError as error:
        raise NamingError(f"the text is no Python expression: {error.msg}. {_FORMS}") from error
    if "flax.optim" in expression and existing_flax_optim() is not None:
        import_module("flax.optim")
    return eval(compiled, _names())


def _names() -> dict[str, Any]:
    from flax.core import freeze

    return {name: import_module(module) for name, module in _MODULES.items()} | {"freeze": freeze}


def shortened(text: str) -> str:
    """The text for a message, which may be a long expression."""
    return textwrap.shorten(text, 80, placeholder=" ...")


def _hint(error: BaseException) -> str:
    if isinstance(error, NameError) and getattr(error, "name", None) is not None:
        return (
            f". An expression can use {', '.join(_MODULES)} and freeze; write MODULE:NAME or"
            " FILE.py:NAME for any other object"
        )
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        return ". Name the module with its package: package.module:NAME"
    return ""

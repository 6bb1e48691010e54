"""The random numbers of jax before 0.5, and a notice of programs that make random keys."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import jax

from flaxoptim_compat.legacy import hook, usage
from flaxoptim_compat.legacy.replacing import look_like, replace
from flaxoptim_compat.versions.of_jax import leave_out_of_sources

# With this, jax names the line of the program as the source of an operation.
leave_out_of_sources(__file__)
_OPTION = "jax_threefry_partitionable"


def give_those_of_then(undo: ExitStack) -> None:
    """Let keys give the numbers of before jax 0.5, until a stack is closed."""
    # Jax's own environment variable is the user's choice, and wins.
    if _OPTION.upper() not in os.environ and getattr(jax.config, _OPTION):
        jax.config.update(_OPTION, False)
        undo.callback(jax.config.update, _OPTION, True)


def notice_keys(undo: ExitStack) -> None:
    """Under ``run``, record in ``usage`` when a key is made, until a stack is closed."""
    if hook.reports():
        for name in ("PRNGKey", "key"):
            _notice(name, undo)


def _notice(name: str, undo: ExitStack) -> None:
    original: Callable[..., Any] = getattr(jax.random, name)

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        usage.made_keys = True
        return original(*args, **kwargs)

    look_like(original, make, "jax.random")
    replace(jax.random, name, make, undo)

"""The random numbers of jax before 0.5, and a notice of programs that make random keys."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import jax

from flaxoptim_compat.legacy import hook, usage
from flaxoptim_compat.legacy.replacing import all_of, look_like, replace
from flaxoptim_compat.versions.of_jax import leave_out_of_sources

# With this, jax names the line of the program as the source of an operation.
leave_out_of_sources(__file__)
_OPTION = "jax_threefry_partitionable"


def give_those_of_then() -> Callable[[], None]:
    """Let keys give the numbers of before jax 0.5; returns a function that undoes this."""
    # Jax's own environment variable is the user's choice, and wins.
    if _OPTION.upper() in os.environ or not getattr(jax.config, _OPTION):
        return lambda: None
    jax.config.update(_OPTION, False)
    return lambda: jax.config.update(_OPTION, True)


def notice_keys() -> Callable[[], None]:
    """Under ``run``, record in ``usage`` when a key is made; returns a function that undoes it."""
    return all_of([_notice(name) for name in ("PRNGKey", "key") if hook.reports()])


def _notice(name: str) -> Callable[[], None]:
    original: Callable[..., Any] = getattr(jax.random, name)

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        usage.made_keys = True
        return original(*args, **kwargs)

    look_like(original, make, "jax.random")
    return replace(jax.random, name, make)

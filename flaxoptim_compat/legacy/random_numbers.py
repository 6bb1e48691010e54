"""The random numbers of before jax 0.5, and whether a program has any."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import jax

from flaxoptim_compat.legacy import hook, usage
from flaxoptim_compat.legacy.replacing import all_of, look_like, replace
from flaxoptim_compat.versions.of_jax import leave_out_of_sources

# So that what jax says of an operation names the line of the program.
leave_out_of_sources(__file__)
_OPTION = "jax_threefry_partitionable"


def give_those_of_then() -> Callable[[], None]:
    """Have keys give the numbers that they gave before jax 0.5, and return what undoes that."""
    # Whoever says by jax's own variable which numbers they are to give is obeyed.
    if _OPTION.upper() in os.environ or not getattr(jax.config, _OPTION):
        return lambda: None
    jax.config.update(_OPTION, False)
    return lambda: jax.config.update(_OPTION, True)


def notice_keys() -> Callable[[], None]:
    """Under ``run``, have ``usage`` know when a key is made, and return what ends that."""
    return all_of([_notice(name) for name in ("PRNGKey", "key") if hook.reports()])


def _notice(name: str) -> Callable[[], None]:
    original: Callable[..., Any] = getattr(jax.random, name)

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        usage.made_keys = True
        return original(*args, **kwargs)

    look_like(original, make, "jax.random")
    return replace(jax.random, name, make)

"""A function whose arithmetic is traced once and not for each leaf."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax


def inlined(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """The function, with equations that a trace copies from an earlier trace of the function.

    Without this, a function of jax.numpy that is called for a thousand leaves of one shape is
    traced a thousand times, operation by operation. On concrete arrays the function still runs
    operation by operation, because compiled code would round otherwise.

    Args:
      function: takes arrays and numbers; must be the same object at every call.
    """
    once = jax.jit(function, inline=True)

    @functools.wraps(function)
    def call(*arguments: Any) -> jax.Array:
        traced = any(isinstance(each, jax.core.Tracer) for each in arguments)
        return once(*arguments) if traced else function(*arguments)

    return call

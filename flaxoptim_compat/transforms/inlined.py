"""Tracing the same arithmetic once rather than for each leaf."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax


def inlined(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Let a trace take the equations of a function of arrays over from its last trace.

    A function of jax.numpy that is called for each of a thousand leaves of the same shape is traced
    a thousand times, operation by operation; with this it is traced once, and its equations are
    copied. On concrete arrays it runs operation by operation as ever: compiled, it would round
    otherwise.

    Args:
      function: takes arrays and numbers, and is the same function at every call.
    """
    once = jax.jit(function, inline=True)

    @functools.wraps(function)
    def call(*arguments: Any) -> jax.Array:
        traced = any(isinstance(each, jax.core.Tracer) for each in arguments)
        return once(*arguments) if traced else function(*arguments)

    return call

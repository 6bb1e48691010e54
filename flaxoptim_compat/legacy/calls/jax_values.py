"""Values that jax took: negative numbers for keys, and arrays for the number that they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def is_negative(key: Any, data: Any) -> bool:
    """Whether what is folded into a key is a number below zero."""
    return isinstance(data, int) and data < 0


def fold_in(original: Callable[..., Any], key: Any, data: int) -> Any:
    """Take the number modulo 2³²."""
    return original(key, data % 2**32)


def has_one_number(self: jax.Array) -> bool:
    """Whether an array has axes, but only one number."""
    return self.ndim > 0 and self.size == 1


def as_scalar(original: Callable[..., Any], self: jax.Array) -> Any:
    """Convert the one number of an array."""
    return original(self.reshape(()))


def has_no_number(self: jax.Array) -> bool:
    """Whether an array is empty; whether one that is traced is true was never known."""
    return self.size == 0 and not isinstance(self, jax.core.Tracer)


def false(original: Callable[..., Any], self: jax.Array) -> bool:
    """What an empty array was."""
    return False

"""``jax.experimental.enable_x64`` and ``disable_x64``: 64-bit numbers in a block, or without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax import experimental

__all__ = ["disable_x64", "enable_x64"]

# Before jax 0.8 it was only in jax.experimental, from where it went in 0.9.
_context: Any = vars(jax if hasattr(jax, "enable_x64") else experimental)["enable_x64"]


@contextmanager
def enable_x64(new_val: bool = True) -> Iterator[None]:
    """Allow 64-bit numbers in a block.

    Args:
      new_val: False to disallow them.
    """
    with _context(new_val):
        yield


@contextmanager
def disable_x64() -> Iterator[None]:
    """Do without 64-bit numbers in a block."""
    with _context(False):
        yield

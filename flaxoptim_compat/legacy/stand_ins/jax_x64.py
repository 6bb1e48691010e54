"""``jax.experimental.enable_x64`` and ``disable_x64``: 64-bit numbers in a block, or without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def enable_x64(new_val: bool = True) -> Iterator[None]:
    """Allow 64-bit numbers in a block.

    Args:
      new_val: False to disallow them.
    """
    with jax.enable_x64(new_val):
        yield


@contextmanager
def disable_x64() -> Iterator[None]:
    """Do without 64-bit numbers in a block."""
    with jax.enable_x64(False):
        yield

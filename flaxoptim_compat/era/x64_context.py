"""``jax.experimental.enable_x64`` and ``disable_x64``: a block with 64-bit numbers, or without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flaxoptim_compat.versions import of_jax

__all__ = ["disable_x64", "enable_x64"]


@contextmanager
def enable_x64(new_val: bool = True) -> Iterator[None]:
    """Allow 64-bit numbers in a block, or disallow them."""
    with of_jax.enable_x64(new_val):
        yield


@contextmanager
def disable_x64() -> Iterator[None]:
    """Do without 64-bit numbers in a block."""
    with of_jax.enable_x64(False):
        yield

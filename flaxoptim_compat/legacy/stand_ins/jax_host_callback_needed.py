"""Whether ``jax.experimental.host_callback`` is there, but of no use any more."""

from __future__ import annotations

import jax


def is_needed() -> bool:
    """Whether this jax has of that module at most two functions, which only raise."""
    version: tuple[int, ...] = jax.__version_info__
    return version >= (0, 4, 35)

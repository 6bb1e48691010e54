"""Poolings: one number for each window of the inputs and each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flax import linen
from flax.linen import max_pool as max_pool
from flax.linen.pooling import pool as pool

from flaxoptim_compat.nn.arguments import documented


@documented
def avg_pool(
    inputs: Any,
    window_shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
) -> Any:
    """The mean of each window; padding counts as zeros."""
    return linen.avg_pool(inputs, window_shape, strides, padding)

"""Poolings: one number for each window of the inputs and each feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax


def pool(
    inputs: Any,
    init: Any,
    reduce_fn: Callable[[Any, Any], Any],
    window_shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    padding: str | Sequence[tuple[int, int]],
) -> Any:
    """Reduce each window of the inputs to one number.

    Args:
      inputs: of shape ``[batch, *window axes, features]``.
      init: what each reduction begins with.
      reduce_fn: reduces two numbers to one.
      window_shape: the size of a window.
      strides: the steps from one window to the next; by default 1.
      padding: ``SAME``, ``VALID``, or how much before and after each axis of the window.
    """
    around: Any = padding
    if not isinstance(padding, str):
        around = tuple(map(tuple, padding))
        if len(around) != len(window_shape) or any(len(pair) != 2 for pair in around):
            raise AssertionError(
                f"padding is {padding}: it must be a pair of numbers for each of the"
                f" {len(window_shape)} axes of window_shape, {window_shape}."
            )
        around = ((0, 0), *around, (0, 0))
    steps = (1, *(strides or (1,) * len(window_shape)), 1)
    return lax.reduce_window(inputs, init, reduce_fn, (1, *window_shape, 1), steps, around)


def avg_pool(
    inputs: Any,
    window_shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
) -> Any:
    """The mean of each window; what is padded counts as zeros.

    Args:
      inputs: of shape ``[batch, *window axes, features]``.
      window_shape: the size of a window.
      strides: the steps from one window to the next; by default 1.
      padding: ``SAME``, ``VALID``, or how much before and after each axis of the window.
    """
    return pool(inputs, 0.0, lax.add, window_shape, strides, padding) / np.prod(window_shape)


def max_pool(
    inputs: Any,
    window_shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
) -> Any:
    """The maximum of each window.

    Args:
      inputs: of shape ``[batch, *window axes, features]``.
      window_shape: the size of a window.
      strides: the steps from one window to the next; by default 1.
      padding: ``SAME``, ``VALID``, or how much before and after each axis of the window.
    """
    return pool(inputs, -jnp.inf, lax.max, window_shape, strides, padding)

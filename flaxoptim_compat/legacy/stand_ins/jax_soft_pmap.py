"""``jax.soft_pmap``: mapping over an axis that may be longer than there are devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def soft_pmap(
    fun: Callable[..., Any], axis_name: Any = None, in_axes: Any = 0, backend: str | None = None
) -> Callable[..., Any]:
    """Map a function over an axis; the devices are those of its arguments."""
    del backend
    return jax.jit(jax.vmap(fun, in_axes=in_axes, axis_name=axis_name))

"""Attention of Linen, whose third input was its mask."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def has_its_mask_third(*args: Any, **_: Any) -> bool:
    """Whether the third input has one dimension more than the first, as only a mask has."""
    if len(args) < 4 or args[3] is None:
        return False
    return bool(jnp.ndim(args[3]) == jnp.ndim(args[1]) + 1)

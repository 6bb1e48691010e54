"""``flax.core.lift.named_call``, of which Flax has no more use since jax names scopes by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def named_call(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Give what a function of a scope computes a name in profiles."""
    return jax.named_call(fn, name=name)

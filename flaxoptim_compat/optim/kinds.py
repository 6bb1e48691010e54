"""Every optimizer of flax.optim that is a chain of stages."""

from __future__ import annotations

from typing import Any

from flaxoptim_compat import optim
from flaxoptim_compat.optim.formula import Chain

KINDS: tuple[Any, ...] = tuple(
    kind
    for kind in vars(optim).values()
    if isinstance(kind, type) and isinstance(getattr(kind, "formula", None), Chain)
)

"""Stands in for the modules of ``flax.nn`` of which next to nothing is left.

They are ``attention``, ``base``, ``linear``, ``normalization``, ``recurrent`` and ``utils``.
"""

from __future__ import annotations

from typing import Any

from flax.jax_utils import scan_in_dim
from flax.linen.linear import default_embed_init, default_kernel_init

from flaxoptim_compat.legacy.stand_ins.flax_nn_removed import REMOVED_FROM_PARTS, refuse

__all__ = ["default_embed_init", "default_kernel_init", "scan_in_dim"]

REMOVED = REMOVED_FROM_PARTS


def __getattr__(name: str) -> Any:
    refuse(name, "flax.nn", REMOVED)

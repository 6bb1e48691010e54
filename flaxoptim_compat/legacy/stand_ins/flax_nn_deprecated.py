"""Stands in for ``flax.deprecated``, the last home of ``flax.nn``."""

from __future__ import annotations

from flaxoptim_compat.legacy.stand_ins import flax_nn as nn

__all__ = ["nn"]

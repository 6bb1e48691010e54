"""Dynamic loss scaling, which lives on in ``flax.training.dynamic_scale``."""

from __future__ import annotations

from flax.training.dynamic_scale import DynamicScale, DynamicScaleResult

__all__ = ["DynamicScale", "DynamicScaleResult"]

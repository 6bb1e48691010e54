"""Stands in for ``flax.deprecated``, the last home of ``flax.nn``."""

from __future__ import annotations

from flaxoptim_compat import nn

__all__ = ["nn"]

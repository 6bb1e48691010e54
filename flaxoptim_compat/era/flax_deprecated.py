"""The stand-in for ``flax.deprecated``, the last place of ``flax.nn`` in Flax."""

from __future__ import annotations

from flaxoptim_compat import nn

__all__ = ["nn"]

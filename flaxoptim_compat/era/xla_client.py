"""The module ``jax.lib.xla_client``, which was jaxlib's module of that name."""

from __future__ import annotations

from typing import Any

import ml_dtypes
from jaxlib import xla_client

from flaxoptim_compat.versions.of_jax import fft_type

bfloat16 = ml_dtypes.bfloat16
FftType: Any = fft_type()

__all__ = ["FftType", "bfloat16"]


def __getattr__(name: str) -> Any:
    return getattr(xla_client, name)

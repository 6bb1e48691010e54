"""The module ``jax.lib.xla_client``, which was that of jaxlib."""

from __future__ import annotations

from typing import Any

import jax
import ml_dtypes
from jaxlib import xla_client

bfloat16 = ml_dtypes.bfloat16
# It moved in jax 0.4.36.
FftType: Any = vars(jax.lax).get("FftType") or vars(xla_client)["FftType"]

__all__ = ["FftType", "bfloat16"]


def __getattr__(name: str) -> Any:
    return getattr(xla_client, name)

"""The module ``jaxlib.xla_extension``, which programs knew from the names of types and errors."""

from __future__ import annotations

from typing import Any

import jax
from jax.errors import JaxRuntimeError as XlaRuntimeError
from jaxlib import xla_client

Device = jax.Device
DeviceArray = jax.Array

__all__ = ["Device", "DeviceArray", "XlaRuntimeError"]


# Where the rest of it is that is left; its own name is not the same in all versions.
_compiled: Any = vars(xla_client)["_xla"]


def __getattr__(name: str) -> Any:
    return getattr(_compiled, name)

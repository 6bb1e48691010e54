"""Methods and properties that arrays had."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def arrays() -> list[type]:
    """The classes of arrays that have values."""
    return jax.Array.__subclasses__()


def devices() -> list[type]:
    """The class of devices."""
    return [jax.Device]


def to_py(self: jax.Array) -> Any:
    """The array as one of numpy."""
    return np.asarray(self)


def _device_buffer(self: jax.Array) -> jax.Array:
    """The array itself, if it is on one device only."""
    if len(self.sharding.device_set) > 1:
        raise ValueError("The array is on several devices; device_buffers has a part for each.")
    return self.addressable_data(0)


def _device_buffers(self: jax.Array) -> list[jax.Array]:
    """The parts of the array, one for each device."""
    return [shard.data for shard in self.addressable_shards]


def device(self: jax.Device) -> jax.Device:
    """The device itself, so that ``x.device()`` is ``x.device``."""
    return self


device_buffer = property(_device_buffer)
device_buffers = property(_device_buffers)

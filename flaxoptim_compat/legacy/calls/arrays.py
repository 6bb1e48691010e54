"""Methods and properties that arrays had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.versions.of_jax import array_types


def all_arrays() -> list[type]:
    """The classes of arrays, and that of tracers."""
    return [*array_types(), jax.core.Tracer]


def without_device() -> list[type]:
    """The classes of arrays that are no tracers, if these do not say on which device they are."""
    return [each for each in array_types() if not hasattr(each, "device")]


def devices() -> list[type]:
    """The class of devices, if arrays have theirs."""
    return [] if without_device() else [jax.Device]


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


def device(self: jax.Array) -> jax.Device:
    """The device that the array is on, if it is on one only."""
    (only,) = self.devices()
    return only


def itself(self: jax.Device) -> jax.Device:
    """The device itself, so that ``x.device()`` is ``x.device``."""
    return self


def broadcast(self: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """The array with new first axes."""
    return jax.lax.broadcast(self, sizes)


def broadcast_in_dim(
    self: jax.Array, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> jax.Array:
    """The array with more axes, and where its own are among them."""
    return jax.lax.broadcast_in_dim(self, shape, broadcast_dimensions)


def split(self: jax.Array, indices_or_sections: Any, axis: int = 0) -> list[jax.Array]:
    """The parts of the array along an axis."""
    return jnp.split(self, indices_or_sections, axis)


device_buffer = property(_device_buffer)
device_buffers = property(_device_buffers)

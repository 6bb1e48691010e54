"""``jax.device_put_replicated`` and ``jax.device_put_sharded``: one slice for each device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

AXIS = "_device_put_sharded"


def device_put_replicated(x: Any, devices: Sequence[jax.Device]) -> Any:
    """Put a copy of each array of a tree on each device, along a new first axis."""
    _check(devices)
    return jax.tree.map(lambda leaf: _put([leaf] * len(devices), devices), x)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[jax.Device]) -> Any:
    """Put one tree on each device, and join them along a new first axis."""
    _check(devices)
    if len(shards) != len(devices):
        raise ValueError(f"There are {len(shards)} shards for {len(devices)} devices.")
    return jax.tree.map(lambda *leaves: _put(leaves, devices), *shards)


def _check(devices: Sequence[jax.Device]) -> None:
    if not isinstance(devices, Sequence) or not devices:
        raise ValueError("devices must be a sequence, and not an empty one.")


def _put(leaves: Sequence[Any], devices: Sequence[jax.Device]) -> jax.Array:
    # Each on its own device at once, so that no device has to hold all of them.
    slices = [
        jax.device_put(jnp.asarray(leaf)[None], device)
        for leaf, device in zip(leaves, devices, strict=True)
    ]
    first = slices[0]
    if any((other.shape, other.dtype) != (first.shape, first.dtype) for other in slices):
        raise ValueError("The shards must have the same shapes and dtypes.")
    sharding = NamedSharding(Mesh(np.asarray(devices), (AXIS,)), PartitionSpec(AXIS))
    shape = (len(devices), *first.shape[1:])
    return jax.make_array_from_single_device_arrays(shape, sharding, slices)

"""The module ``jax.lib.xla_bridge``: backends and devices."""

from __future__ import annotations

from typing import Any

import jax
from jax import default_backend, device_count, devices, local_device_count, local_devices
from jax import process_count as host_count
from jax import process_index as host_id
from jax._src import xla_bridge
from jaxlib import xla_client

from flaxoptim_compat.versions.of_jax import of_backends, process_indices

process_count = host_count
get_backend = of_backends("get_backend")
get_compile_options = of_backends("get_compile_options")
process_index = host_id
host_ids = process_indices()

__all__ = [
    "default_backend",
    "device_count",
    "devices",
    "get_backend",
    "get_compile_options",
    "get_device_backend",
    "host_count",
    "host_id",
    "host_ids",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
    "xla_client",
]


def get_device_backend(device: jax.Device | None = None) -> Any:
    """Return the backend of a device, or the default one."""
    return get_backend() if device is None else device.client


def __getattr__(name: str) -> Any:
    # All of the module was public until jax 0.4, and packages read its tables.
    return getattr(xla_bridge, name)

"""Backends and devices, and the classes that they were instances of."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from flaxoptim_compat.era import xla_bridge, xla_client, xla_extension
from tests.support.vectors import X


def test_backends() -> None:
    assert xla_bridge.get_backend().platform == jax.default_backend()
    assert xla_bridge.get_device_backend(jax.devices()[0]).platform == "cpu"
    assert xla_bridge.get_device_backend() is xla_bridge.get_backend()
    assert xla_bridge.device_count() == len(xla_bridge.devices())
    assert (xla_bridge.host_id(), xla_bridge.host_count()) == (0, 1)
    assert xla_bridge.host_ids() == [0]
    assert isinstance(jax.devices()[0], xla_extension.Device)
    assert isinstance(X, xla_extension.DeviceArray)
    assert isinstance(X, xla_extension.ArrayImpl)
    assert isinstance(X, xla_client.ArrayImpl)
    assert jnp.dtype(xla_client.bfloat16) == jnp.bfloat16

"""Backends and devices, and the classes that they were instances of."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from flaxoptim_compat.legacy.stand_ins import jax_xla_bridge, jax_xla_client, jaxlib_xla_extension
from tests.support.vectors import X


def test_backends() -> None:
    assert jax_xla_bridge.get_backend().platform == jax.default_backend()
    assert jax_xla_bridge.get_device_backend(jax.devices()[0]).platform == "cpu"
    assert jax_xla_bridge.get_device_backend() is jax_xla_bridge.get_backend()
    assert jax_xla_bridge.device_count() == len(jax_xla_bridge.devices())
    assert (jax_xla_bridge.host_id(), jax_xla_bridge.host_count()) == (0, 1)
    assert jax_xla_bridge.host_ids() == [0]
    assert isinstance(jax.devices()[0], jaxlib_xla_extension.Device)
    assert isinstance(X, jaxlib_xla_extension.DeviceArray)
    assert isinstance(X, jaxlib_xla_extension.ArrayImpl)
    assert isinstance(X, jax_xla_client.ArrayImpl)
    assert jnp.dtype(jax_xla_client.bfloat16) == jnp.bfloat16

"""Where an array is."""

from __future__ import annotations

import jax


def device_of(array: jax.Array) -> jax.Device:
    """The one device that holds it: before jax 0.4.31 an array does not say so by itself."""
    (device,) = array.devices()
    return device

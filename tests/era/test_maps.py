"""Meshes of devices."""

from __future__ import annotations

import warnings

import jax
import numpy as np
from jax.sharding import PartitionSpec

from flaxoptim_compat.era import maps
from tests.support.vectors import X


def test_meshes() -> None:
    devices = np.asarray(jax.devices()[:2])
    with warnings.catch_warnings():
        # Of `with mesh:`, which is what it was for.
        warnings.simplefilter("ignore", DeprecationWarning)
        with maps.mesh(devices, ("data",)):
            assert maps.thread_resources.env.physical_mesh.shape == {"data": 2}
            constrained = jax.jit(
                lambda x: jax.lax.with_sharding_constraint(x, PartitionSpec("data"))
            )(X)
    assert len(constrained.addressable_shards) == 2

"""Meshes of the first devices, and functions on their shards, as every jax has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh


def mesh_of(shape: tuple[int, ...], names: tuple[str, ...]) -> Mesh:
    """A mesh whose axes the compiler splits; `jax.make_mesh` is of 0.4.35."""
    return Mesh(np.array(jax.devices()[: math.prod(shape)]).reshape(shape), names)


def shard_map(function: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any) -> Any:
    """Run a function on each shard; before jax 0.6 it is in jax.experimental."""
    if hasattr(jax, "shard_map"):
        return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    from jax.experimental.shard_map import shard_map as of_then

    # It cannot follow what is replicated through a branch.
    return of_then(function, mesh, in_specs=in_specs, out_specs=out_specs, check_rep=False)

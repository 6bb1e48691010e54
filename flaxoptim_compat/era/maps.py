"""The module ``jax.experimental.maps`` without ``xmap``: meshes of devices."""

from __future__ import annotations

# Jax has no public name for the current mesh of a ``with mesh:`` block.
from jax._src.mesh import ResourceEnv, thread_resources
from jax.sharding import Mesh

# `mesh` was a context manager, and a Mesh is one itself.
mesh = Mesh

__all__ = ["Mesh", "ResourceEnv", "mesh", "thread_resources"]

"""The module ``jax.experimental.maps`` without ``xmap``: meshes of devices."""

from __future__ import annotations

# Nothing public tells which mesh a ``with mesh:`` made the current one, as 0.7 knew it.
from jax._src.mesh import ResourceEnv, thread_resources
from jax.sharding import Mesh

# As a function it was a context manager, which a Mesh is itself.
mesh = Mesh

__all__ = ["Mesh", "ResourceEnv", "mesh", "thread_resources"]

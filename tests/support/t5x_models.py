"""A small model's variables with axis names, and T5X's way from names to the axes of a mesh."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from flax import traverse_util
from flax.linen import partitioning
from flax.linen.partitioning import AxisMetadata
from jax.sharding import PartitionSpec as P

# Names of axes, and the axis of the mesh that each is split over.
RULES = (("vocab", "model"), ("embed", None), ("mlp", "model"), ("layers", None))

NAMES = {
    "dense": {"kernel": ("embed", "mlp"), "bias": ("mlp",)},
    "embedding": ("vocab", "embed"),
    "stack": ("layers", "embed", "mlp"),
}
_SHAPES = {
    "dense": {"kernel": (8, 16), "bias": (16,)},
    "embedding": (32, 8),
    "stack": (2, 8, 16),
}


def params() -> dict[str, Any]:
    random = np.random.RandomState(0)
    return _map(lambda shape: random.uniform(-1.0, 1.0, shape).astype(np.float32), _SHAPES)


def gradients(step: int) -> dict[str, Any]:
    random = np.random.RandomState(100 + step)
    return _map(lambda shape: random.uniform(-2.0, 2.0, shape).astype(np.float32), _SHAPES)


def params_axes() -> dict[str, Any]:
    """As ``flax.linen.partitioning.param_with_axes`` leaves them in the variables of a model."""
    flat = traverse_util.flatten_dict(NAMES, sep="/")
    named = {f"{path}_axes": AxisMetadata(names=names) for path, names in flat.items()}
    return traverse_util.unflatten_dict(named, sep="/")


def specs() -> dict[str, Any]:
    return _map(lambda names: P(*names), NAMES)


def variables(**collections: Any) -> dict[str, Any]:
    return {"params": params(), "params_axes": params_axes(), **collections}


def mesh_axes(logical_axes: Any) -> Any:
    """Axes of the mesh in place of axis names, through the state dict, as T5X's partitioner."""

    def of_mesh(names: Any) -> Any:
        if names is None or names is traverse_util.empty_node:
            return names
        return partitioning.logical_to_mesh_axes(names, RULES)

    flat = traverse_util.flatten_dict(logical_axes.state_dict(), keep_empty_nodes=True, sep="/")
    found = {path: of_mesh(names) for path, names in flat.items()}
    return logical_axes.restore_state(traverse_util.unflatten_dict(found, sep="/"))


def _map(function: Any, tree: Any) -> Any:
    return jax.tree.map(function, tree, is_leaf=lambda each: isinstance(each, tuple))

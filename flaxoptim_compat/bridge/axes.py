"""Which axes of a parameter an array of its state has, as PartitionSpecs."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec

from flaxoptim_compat.bridge.definition import Leaf, PyTree


def padded(axes: PyTree, rank: int) -> tuple[Any, ...]:
    """The entry of every dimension; None, and a specification that ends early, name no more axes.

    Raises:
      ValueError: there are more entries than dimensions.
    """
    entries = tuple(axes or ())
    if len(entries) > rank:
        raise ValueError(f"{axes} names {len(entries)} axes, its parameter has {rank}.")
    return (*entries, *[None] * (rank - len(entries)))


def of_state(param: Leaf, state: Any, axes: PyTree) -> PyTree:
    """The axes of every array in the state of one parameter, by shape.

    An array of the parameter's rank has its axes, but not where a dimension is another one, as
    after a sum over it. Any other array has none.

    Args:
      param: the parameter, or anything with its shape.
      state: the state of that parameter, any tree.
      axes: those of the parameter, a PartitionSpec or None.
    """
    shape = np.shape(param)

    def of_array(array: Leaf) -> PartitionSpec:
        found = np.shape(array)
        if len(found) != len(shape):
            return PartitionSpec(*[None] * len(found))
        entries = zip(padded(axes, len(shape)), shape, found, strict=True)
        return PartitionSpec(*[axis if mine == its else None for axis, its, mine in entries])

    return jax.tree.map(of_array, state)


def without(axes: PyTree, rank: int, dimension: int) -> PartitionSpec:
    """The axes of a parameter after a sum over one of its dimensions."""
    entries = padded(axes, rank)
    return PartitionSpec(*entries[:dimension], *entries[dimension + 1 :])

"""Which optimizer moves which leaf: traversals as leaf indices, and as optax masks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.tree_util import PyTreeDef
from jax.typing import DTypeLike

from flaxoptim_compat.bridge.definition import Assignment, Leaf, PyTree
from flaxoptim_compat.bridge.traversals import FLAX_MODEL_PARAM_TRAVERSAL
from flaxoptim_compat.formula_text.stages import FROZEN


@dataclasses.dataclass
class _ShapeDtype:
    """Stands for a leaf in the filter of a traversal, so that it works under jit as well."""

    shape: tuple[int, ...]
    dtype: DTypeLike
    _value: Leaf
    _indices: list[int]

    @classmethod
    def create(cls, value: Leaf) -> _ShapeDtype:
        """Describe one leaf."""
        if not isinstance(value, jax.Array | jax.ShapeDtypeStruct):
            # An array that is yet to be read, as T5X restores it, tells no more of itself.
            unread = hasattr(value, "dtype") and not isinstance(value, np.ndarray | np.generic)
            value = jax.ShapeDtypeStruct(value.shape, value.dtype) if unread else jnp.array(value)
        return cls(shape=value.shape, dtype=value.dtype, _value=value, _indices=[])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size: int = self._value.size
        return size


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where the values of some leaves stand in the tree that optax sees."""

    treedef: PyTreeDef
    leaves: tuple[int, ...]

    def place(self, values: Sequence[PyTree]) -> PyTree:
        """The tree that holds these values, with optax's placeholder everywhere else."""
        full: list[PyTree] = [optax.MaskedNode()] * self.treedef.num_leaves
        for index, value in zip(self.leaves, values, strict=True):
            full[index] = value
        return jax.tree.unflatten(self.treedef, full)

    def pick(self, tree: PyTree) -> list[PyTree]:
        """The values of these leaves in a tree that may go on below them."""
        flat = self.treedef.flatten_up_to(tree)
        return [flat[index] for index in self.leaves]


def labelled(treedef: PyTreeDef, assignments: Sequence[Assignment]) -> PyTree:
    """For every parameter the label of what moves it, as ``optax.partition`` takes them."""
    found = [FROZEN] * treedef.num_leaves
    for each in assignments:
        for index in each.leaves:
            found[index] = each.label
    return treedef.unflatten(found)


def select(
    traversals: Iterable[Any], target: PyTree, eligible: Sequence[int]
) -> list[tuple[int, ...]]:
    """The eligible leaves that each traversal selects.

    Args:
      traversals: those of a MultiOptimizer.
      target: the parameters; filters see the shape and dtype of a leaf, not its value.
      eligible: indices of the leaves to choose from.

    Raises:
      ValueError: two traversals select the same leaf.
    """
    leaves, treedef = jax.tree.flatten(target)
    proxies = list(map(_ShapeDtype.create, leaves))
    index_of = {id(proxy): index for index, proxy in enumerate(proxies)}
    tree = jax.tree.unflatten(treedef, proxies)
    # What a traversal with nothing but a filter asks about is listed once for all of its class.
    listed: dict[type, list[tuple[str, PyTree]]] = {}
    allowed = set(eligible)
    selected: list[tuple[int, ...]] = []
    for number, traversal in enumerate(traversals):
        matches: list[int] = []
        for match in _selected(traversal, tree, listed):
            # A traversal may stop at a container: then all that is in it is meant.
            for proxy in (match,) if type(match) is _ShapeDtype else jax.tree.leaves(match):
                index = index_of[id(proxy)]
                if index in allowed:
                    proxy._indices.append(number)
                    matches.append(index)
        selected.append(tuple(matches))
    if any(len(proxy._indices) > 1 for proxy in proxies):
        indices = jax.tree.unflatten(treedef, [proxy._indices for proxy in proxies])
        raise ValueError(f"Multiple optimizers match the same leaves : {indices}")
    return selected


def _selected(
    traversal: Any, tree: PyTree, listed: dict[type, list[tuple[str, PyTree]]]
) -> Iterator[PyTree]:
    """The values that a traversal selects, in its order."""
    kind = type(traversal)
    # Of this very class, as a subclass may differ in more.
    known = kind is FLAX_MODEL_PARAM_TRAVERSAL or "nothing_but_a_filter" in vars(kind)
    if not known or vars(traversal).keys() != {"_filter_fn"}:
        return iter(traversal.iterate(tree))
    if kind not in listed:
        names = listed[kind] = []
        listing: Any = object.__new__(kind)
        # The filter is asked about everything, and accepts nothing: append returns None.
        listing._filter_fn = lambda name, value: names.append((name, value))
        list(listing.iterate(tree))
    accepts = traversal._filter_fn
    return (value for name, value in listed[kind] if accepts(name, value))

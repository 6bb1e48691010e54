"""The leaves that each optimizer moves: traversals as leaf indices, and as optax masks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import PyTreeDef
from jax.typing import DTypeLike

from flaxoptim_compat.bridge.definition import Assignment, Leaf, PyTree
from flaxoptim_compat.bridge.traversals import FLAX_MODEL_PARAM_TRAVERSAL
from flaxoptim_compat.formula_text.stages import FROZEN


@dataclasses.dataclass
class _ShapeDtype:
    """The shape and dtype of a leaf, for the filter of a traversal, which then works under jit."""

    shape: tuple[int, ...]
    dtype: DTypeLike
    _value: Leaf
    _indices: list[int]

    @classmethod
    def create(cls, value: Leaf) -> _ShapeDtype:
        """Describe one leaf."""
        if not isinstance(value, jax.Array | jax.ShapeDtypeStruct):
            # An array that is not read yet, as T5X restores them, has a shape and a dtype only.
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


def labelled(treedef: PyTreeDef, assignments: Sequence[Assignment]) -> PyTree:
    """The tree of labels for ``optax.partition``: for each parameter that of its definition."""
    labels = [FROZEN] * treedef.num_leaves
    for part in assignments:
        for index in part.leaves:
            labels[index] = part.label
    return treedef.unflatten(labels)


def select(
    traversals: Iterable[Any], target: PyTree, eligible: Sequence[int]
) -> list[tuple[int, ...]]:
    """The eligible leaves that each traversal selects, by their indices.

    Filters see the shape and dtype of a leaf, not its value.

    Raises:
      ValueError: two traversals select the same leaf.
    """
    leaves, treedef = jax.tree.flatten(target)
    proxies = list(map(_ShapeDtype.create, leaves))
    index_of = {id(proxy): index for index, proxy in enumerate(proxies)}
    tree = jax.tree.unflatten(treedef, proxies)
    # The names and values that a filter is called with, for each class of traversals with a filter.
    listed: dict[type, list[tuple[str, PyTree]]] = {}
    allowed = set(eligible)
    selected: list[tuple[int, ...]] = []
    for number, traversal in enumerate(traversals):
        matches: list[int] = []
        for match in _selected(traversal, tree, listed):
            # A traversal that stops at a container selects all leaves in the container.
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
    """The values that a traversal selects, in the order of the traversal."""
    kind = type(traversal)
    # Subclasses do not count: they may differ in more than the filter.
    known = kind is FLAX_MODEL_PARAM_TRAVERSAL or "nothing_but_a_filter" in vars(kind)
    if not known or vars(traversal).keys() != {"_filter_fn"}:
        return iter(traversal.iterate(tree))
    if kind not in listed:
        names = listed[kind] = []
        listing: Any = object.__new__(kind)
        # This filter is called with every value, and accepts none: append returns None.
        listing._filter_fn = lambda name, value: names.append((name, value))
        list(listing.iterate(tree))
    accepts = traversal._filter_fn
    return (value for name, value in listed[kind] if accepts(name, value))

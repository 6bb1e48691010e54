"""``tree_map`` and ``tree_multimap`` with the old meaning of ``None`` in the first tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def tree_map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Map a function over trees; in place of ``None`` in the first, others may have any subtree.

    Args:
      f: the function.
      tree: the tree whose structure the result has.
      *rest: trees with this structure, which may have subtrees in place of its leaves.
      is_leaf: tells further nodes that are leaves.
    """
    leaves, structure = jax.tree.flatten(tree, is_leaf)
    definition: Any = structure
    try:
        columns = [definition.flatten_up_to(other) for other in rest]
    except ValueError:
        # Today None fits None only; this was the only difference. If anything else does not fit,
        # the call below raises an error with the place.
        return _with_none_as_leaf(f, tree, *rest, is_leaf=is_leaf)
    return jax.tree.unflatten(structure, map(f, leaves, *columns))


def _with_none_as_leaf(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None
) -> Any:
    def is_mapped(node: Any) -> bool:
        return is_leaf is not None and is_leaf(node)

    def f_or_none(leaf: Any, *others: Any) -> Any:
        return None if leaf is None and not is_mapped(leaf) else f(leaf, *others)

    return jax.tree.map(
        f_or_none, tree, *rest, is_leaf=lambda node: node is None or is_mapped(node)
    )

"""``tree_map`` and ``tree_multimap`` as they took ``None`` in the first tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def tree_map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Map a function over trees; where the first has ``None``, the others may have anything.

    Args:
      f: the function.
      tree: the tree whose structure the result has.
      *rest: trees that have this structure, but may go on below its leaves.
      is_leaf: what else is a leaf.
    """
    leaves, structure = jax.tree.flatten(tree, is_leaf)
    definition: Any = structure
    try:
        columns = [definition.flatten_up_to(other) for other in rest]
    except ValueError:
        # Today None stands for nothing but None, which is the one thing that was looser. If it
        # is something else that does not fit, this raises again, and says where.
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

"""``jax.tree_util.tree_map`` with None in the first tree, where the others have anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from flaxoptim_compat.legacy.stand_ins import jax_trees


def has_none_for_something(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether trees fit only if None in the first one stands for whatever is in the others."""
    del f
    if not rest or _fit(tree, rest, is_leaf):
        return False
    return _fit(tree, rest, lambda node: node is None or (is_leaf is not None and is_leaf(node)))


def _fit(tree: Any, rest: tuple[Any, ...], is_leaf: Callable[[Any], bool] | None) -> bool:
    structure: Any = jax.tree.structure(tree, is_leaf)
    try:
        for other in rest:
            structure.flatten_up_to(other)
    except (TypeError, ValueError):
        return False
    return True


def tree_map(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Map where there is no None."""
    del original
    return jax_trees.tree_map(*args, **kwargs)

"""Label parameters by their paths, for ``optax.partition``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax

from flaxoptim_compat.versions.of_jax import slashed

Filter = Callable[[str, Any], bool]


def labels(filters: Mapping[str, Filter], otherwise: str) -> Callable[[Any], Any]:
    """A function that labels each parameter with the key of the one filter that selects it.

    Like a ``MultiOptimizer``, the function raises a ValueError if several select the same one.

    Args:
      filters: each is given the path of a parameter, such as ``/dense/kernel``, and its value, as a
        ``ModelParamTraversal`` gave them to its function.
      otherwise: the label of a parameter that no filter selects.
    """

    def label(keys: tuple[Any, ...], value: Any) -> str:
        path = f"/{slashed(keys)}"
        selecting = [key for key, selects in filters.items() if selects(path, value)]
        if len(selecting) > 1:
            raise ValueError(f"Multiple filters select {path}: {', '.join(selecting)}.")
        return selecting[0] if selecting else otherwise

    return lambda params: jax.tree_util.tree_map_with_path(label, params)

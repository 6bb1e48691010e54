"""Runs of the same optimizer here and in the genuine flax.optim, and how far apart they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class LargestValues:
    """The largest absolute value that each leaf had in the course of a run.

    Errors are measured in units in the last place of that value. The value at the end would not do:
    a scalar that happens to pass through zero just then would count as infinitely wrong.
    """

    def __init__(self, tree: Any) -> None:
        self.values = [0.0] * len(jax.tree.leaves(tree))
        self.add(tree)

    def add(self, tree: Any) -> None:
        """Take note of one step."""
        for index, leaf in enumerate(jax.tree.leaves(tree)):
            sizes = np.abs(_as_float(leaf))
            largest = np.max(sizes, initial=0.0, where=np.isfinite(sizes))
            self.values[index] = max(self.values[index], float(largest))


def _as_float(leaf: Any) -> np.ndarray[Any, Any]:
    return np.asarray(leaf).astype(np.float64)


def errors_in_ulps(ours: Any, theirs: Any, largest: LargestValues) -> dict[str, float]:
    """The error of every leaf, in units in the last place of the leaf's largest value.

    NaN in the same place is no error; NaN in one only is an infinite one.
    """
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(theirs)]
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    return {
        path: _ulps(mine, genuine, scale)
        for path, (mine, genuine), scale in zip(paths, pairs, largest.values, strict=True)
    }


def _ulps(mine: Any, genuine: Any, scale: float) -> float:
    a, b = _as_float(mine), _as_float(genuine)
    assert a.shape == b.shape, (a.shape, b.shape)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return np.inf
    with np.errstate(invalid="ignore"):
        difference = np.where((a == b) | np.isnan(a), 0.0, np.abs(a - b))
    worst = float(np.max(difference, initial=0.0))
    if worst == 0.0:
        return 0.0
    dtype = jnp.result_type(genuine)
    info = jnp.finfo(dtype if jnp.issubdtype(dtype, jnp.floating) else jnp.float32)
    smallest = float(info.tiny)
    return worst / (2.0 ** np.floor(np.log2(max(scale, smallest))) * float(info.eps))


def worst(errors: dict[str, float], paths: Iterable[str] | None = None) -> float:
    """The largest of some errors."""
    return max((errors[path] for path in (errors if paths is None else paths)), default=0.0)

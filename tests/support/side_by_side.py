"""Comparison of what the same program returns with our optimizers and with the genuine ones."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.support.ulps import LargestValues, errors_in_ulps

# Optimizers whose compiled numbers are the genuine ones to the bit. XLA fuses the others in another
# order, which is good for a few units in the last place; a wrong hyper-parameter is for thousands.
EXACT = frozenset({"Adagrad", "GradientDescent", "Momentum"})
FUSED_OTHERWISE = 4.0


def ulps(optimizer: str) -> float:
    """How far the parameters of this optimizer may be from the genuine ones after a few steps."""
    return 0.0 if optimizer in EXACT else FUSED_OTHERWISE


def named_leaves(tree: Any) -> dict[str, Any]:
    """The leaves of a tree by their paths, which do not tell a dict from a FrozenDict."""
    return {
        jax.tree_util.keystr(path): leaf
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]
    }


def assert_same(ours: Any, theirs: Any, ulps: float = 0.0) -> None:
    """Assert that two trees have the same paths, shapes, dtypes, and the same bits.

    Args:
      ours: a tree, such as an optimizer.
      theirs: the tree to compare with.
      ulps: allow an error of this many units in the last place of a leaf's largest value.
    """
    mine, genuine = named_leaves(ours), named_leaves(theirs)
    assert list(mine) == list(genuine), (list(mine), list(genuine))
    described = [{path: describe(leaf) for path, leaf in each.items()} for each in (mine, genuine)]
    assert described[0] == described[1], {
        path: [each[path] for each in described]
        for path in mine
        if described[0][path] != described[1][path]
    }
    if ulps:
        errors = errors_in_ulps(ours, theirs, LargestValues(theirs))
        assert max(errors.values(), default=0.0) <= ulps, _worst(errors)
    else:
        different = [path for path in mine if bits(mine[path]) != bits(genuine[path])]
        errors = errors_in_ulps(ours, theirs, LargestValues(theirs)) if different else {}
        assert not different, _worst({path: errors[path] for path in different})


def _worst(errors: Mapping[str, float]) -> dict[str, float]:
    """The few leaves with the largest errors, which are enough to see what a failure is about."""
    return {path: errors[path] for path in heapq.nlargest(5, errors, key=errors.__getitem__)}


def describe(leaf: Any) -> tuple[Any, Any]:
    """Shape and dtype."""
    return np.shape(leaf), jnp.result_type(leaf)


def bits(leaf: Any) -> bytes:
    """The bytes of a leaf, in which 0 is not -0 and NaN is NaN."""
    return np.asarray(leaf).tobytes()


def assert_same_bits(ours: Any, theirs: Any) -> None:
    """The same of two trees that are made of the same containers too."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    assert_same(ours, theirs)

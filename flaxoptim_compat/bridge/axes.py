"""Restored arrays with axes of size one that what they are restored into does not have.

Up to Flax 0.3.5 the scale and the bias of Linen's GroupNorm had shape (1, 1, 1, C), now (C,). Flax
restores them as they are, and the model refuses them later.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.tree_util import PyTreeDef, keystr, tree_flatten_with_path

from flaxoptim_compat.bridge.definition import PyTree
from flaxoptim_compat.bridge.strictness import is_strict, let_pass

Shape = tuple[int, ...]


def differ_by_ones(one: Shape, other: Shape) -> bool:
    """True if two shapes differ in axes of size one, and in nothing else."""
    return one != other and _without_ones(one) == _without_ones(other)


def _without_ones(shape: Shape) -> list[int]:
    return [size for size in shape if size != 1]


def mended(like: PyTree, restored: PyTree) -> PyTree:
    """Restored arrays, in the shapes of ``like`` where they differ by axes of size one.

    A warning says so, about the line of the program that restores. All stays as it is where a shape
    differs by more, and where each array may be a copy for one device, which has one axis more.

    Args:
      like: what it was restored into.
      restored: a tree of the same structure.

    Raises:
      ValueError: ``strict()`` refuses it; the message names the first path.
    """
    try:
        structure: PyTreeDef = jax.tree.structure(like)
        if structure != jax.tree.structure(restored):
            return restored
    except (TypeError, ValueError):
        # Flax also restores dicts whose names jax cannot sort.
        return restored
    expected, found = tree_flatten_with_path(like)[0], jax.tree.leaves(restored)
    shapes = [_shape(leaf) for _, leaf in expected]
    changed = [at for at, leaf in enumerate(found) if _shape(leaf) != shapes[at]]
    # A copy for one device has an axis more in each array, and a step that is no scalar.
    scalars = [at for at in changed if () in (shapes[at], _shape(found[at]))]
    copied = bool(scalars) or len(changed) == len(found)
    if not changed or copied:
        return restored
    if not all(
        isinstance(found[at], np.ndarray | jax.Array)
        and differ_by_ones(shapes[at], _shape(found[at]))
        for at in changed
    ):
        return restored
    # A parameter rather than one of its moments.
    first = min(changed, key=lambda at: len(expected[at][0]))
    more = f", and {len(changed) - 1} more like it" if changed[1:] else ""
    message = (
        "A restored array has other axes of size one than the array that it is for: at"
        f" {keystr(expected[first][0])} expected shape {shapes[first]}, found"
        f" {_shape(found[first])}{more}."
    )
    if is_strict():
        raise ValueError(f"{message} Nothing was restored.")
    let_pass(
        f"{message} The values are taken, in the expected shape. Linen's GroupNorm had such"
        " parameters until Flax 0.3.5."
    )
    for at in changed:
        found[at] = found[at].reshape(shapes[at])
    return jax.tree.unflatten(structure, found)


def _shape(leaf: Any) -> Shape:
    return tuple(getattr(leaf, "shape", ()))

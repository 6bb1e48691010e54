"""Restored arrays whose shape differs from the expected one by axes of size one.

Up to Flax 0.3.5 the scale and the bias of Linen's GroupNorm had shape (1, 1, 1, C), now (C,). Flax
restores such arrays unchanged, and the model refuses them later.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.tree_util import PyTreeDef, keystr, tree_flatten_with_path

from flaxoptim_compat.bridge.definition import PyTree
from flaxoptim_compat.bridge.strictness import is_strict, let_pass

Shape = tuple[int, ...]


def differ_by_ones(expected: Shape, found: Shape) -> bool:
    """True if two shapes differ in axes of size one, and in nothing else."""
    without_ones = [[size for size in shape if size != 1] for shape in (expected, found)]
    return expected != found and without_ones[0] == without_ones[1]


def reshaped(like: PyTree, restored: PyTree) -> PyTree:
    """The restored tree, with the shapes of ``like`` in arrays that differ by axes of size one.

    A warning names the first such array, at the line of the program that restores. The tree is
    returned unchanged if another shape differs by more, or if all arrays may be copies for devices,
    which have one more axis.

    Raises:
      ValueError: ``strict()`` refuses such an array; the message names the first path.
    """
    try:
        structure: PyTreeDef = jax.tree.structure(like)
        if structure != jax.tree.structure(restored):
            return restored
    except (TypeError, ValueError):
        # Flax also restores dicts whose names jax cannot sort.
        return restored
    expected, leaves = tree_flatten_with_path(like)[0], jax.tree.leaves(restored)
    shapes = [_shape(leaf) for _, leaf in expected]
    changed = [at for at, leaf in enumerate(leaves) if _shape(leaf) != shapes[at]]
    # Copies for devices have one more axis in each array, and a step that is no scalar.
    if len(changed) in (0, len(leaves)) or not all(
        isinstance(leaves[at], np.ndarray | jax.Array)
        and () not in (shapes[at], _shape(leaves[at]))
        and differ_by_ones(shapes[at], _shape(leaves[at]))
        for at in changed
    ):
        return restored
    # The shortest path is that of a parameter; its moments have longer ones.
    first = min(changed, key=lambda at: len(expected[at][0]))
    more = f", and {len(changed) - 1} more like it" if changed[1:] else ""
    message = (
        "A restored array has other axes of size one than the array in its place: at"
        f" {keystr(expected[first][0])} expected shape {shapes[first]}, found"
        f" {_shape(leaves[first])}{more}."
    )
    if is_strict():
        raise ValueError(f"{message} Nothing was restored.")
    let_pass(
        f"{message} The values are restored in the expected shape. Linen's GroupNorm had such"
        " parameters until Flax 0.3.5."
    )
    for at in changed:
        leaves[at] = leaves[at].reshape(shapes[at])
    return jax.tree.unflatten(structure, leaves)


def _shape(leaf: Any) -> Shape:
    return tuple(getattr(leaf, "shape", ()))

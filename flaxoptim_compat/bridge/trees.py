"""Gradients and states in the structure of the target, and errors that say where they differ."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from flax.core import FrozenDict
from jax.tree_util import PyTreeDef, keystr, tree_flatten_with_path

from flaxoptim_compat.bridge.definition import Leaf, ParamState, PyTree

# The keys on the way to a leaf.
KeyPath: TypeAlias = tuple[Any, ...]


def _is_frozen(node: PyTree) -> bool:
    return isinstance(node, FrozenDict)


def thaw(tree: PyTree) -> PyTree:
    """The tree with a dict in place of every FrozenDict; both flatten in the same order."""
    return jax.tree.map(
        lambda node: thaw(dict(node)) if _is_frozen(node) else node, tree, is_leaf=_is_frozen
    )


class Target:
    """The parameters of an optimizer, with their structure and their leaves."""

    def __init__(self, tree: PyTree) -> None:
        self.tree = tree
        flat: tuple[list[Leaf], PyTreeDef] = jax.tree.flatten(tree)
        self.leaves, self.treedef = flat

    def flatten(self, tree: PyTree, what: str) -> list[PyTree]:
        """The values of another tree in the order of the leaves, as in ``leaves_like``."""
        try:
            return list(self.treedef.flatten_up_to(tree))
        except ValueError:
            pass
        thawed = thaw(self.tree)
        try:
            treedef: PyTreeDef = jax.tree.structure(thawed)
            return list(treedef.flatten_up_to(thaw(tree)))
        except ValueError:
            raise ValueError(_first_difference(thawed, thaw(tree), what)) from None

    def refuse_misshapen(self, gradients: Sequence[Leaf]) -> None:
        """Refuse a gradient that does not have the shape of its parameter.

        Raises:
          ValueError: there is such a gradient; the message names its path.
        """
        for index in self.misshapen(gradients):
            raise ValueError(f"{self.difference(index, gradients[index])}.")

    def misshapen(self, gradients: Sequence[Leaf]) -> Iterator[int]:
        """The indices of leaves whose gradients have other shapes, or are complex for real ones."""
        for index, (param, grad) in enumerate(zip(self.leaves, gradients, strict=True)):
            if not _fits(grad, param):
                yield index

    def difference(self, index: int, grad: Leaf) -> str:
        """A clause that says at which path a gradient has another shape."""
        path = keystr(tree_flatten_with_path(self.tree)[0][index][0]) or "the root"
        param = self.leaves[index]
        if not number_kind(param):
            return f"The parameter at {path} has {_describe(param)}: no step can move such a leaf"
        if _is_complex_for_real(grad, param):
            return f"The gradient at {path} is complex, its parameter is real"
        return (
            f"The gradient at {path} has {_describe(grad)}, its parameter has shape"
            f" {np.shape(param)}"
        )

    def broadcast_shape(self, index: int, grad: Leaf) -> tuple[int, ...] | None:
        """The shape to which a parameter and its gradient broadcast; None if they do not."""
        shape, param = _shape(grad), self.leaves[index]
        if shape is None or not number_kind(param) or _is_complex_for_real(grad, param):
            return None
        try:
            return np.broadcast_shapes(shape, np.shape(param))
        except ValueError:
            return None


def leaves_like(target: PyTree, tree: PyTree, what: str) -> list[PyTree]:
    """The values, or the subtrees, of a tree at the leaves of the target.

    A dict and a FrozenDict are the same. Error messages call the tree ``what``.

    Raises:
      ValueError: the structures differ; the message names the first path at which they do.
    """
    return Target(target).flatten(tree, what)


def _first_difference(target: PyTree, tree: PyTree, what: str) -> str:
    path, expected, found = _difference(target, tree, ()) or ((), "another structure", "this one")
    return (
        f"{what} do not have the structure of the target: at {keystr(path) or 'the root'} the"
        f" target has {expected}, {what} have {found}."
    )


def _difference(target: PyTree, tree: PyTree, path: KeyPath) -> tuple[KeyPath, str, str] | None:
    """The first path at which two trees differ, and the nodes there in words; None if they fit.

    The tree fits if it has a subtree in place of a leaf of the target.
    """
    if jax.tree_util.all_leaves([target]):
        return None
    if type(target) is not type(tree):
        return path, _name(target), _name(tree)
    of_target, of_tree = _children(target), _children(tree)
    for key in [*of_target, *of_tree]:
        if key not in of_target or key not in of_tree:
            return (*path, key), _name_in(of_target, key), _name_in(of_tree, key)
        below = _difference(of_target[key], of_tree[key], (*path, key))
        if below:
            return below
    return None


def _children(node: PyTree) -> dict[Any, PyTree]:
    """The children of a container, by their keys."""
    below, _ = tree_flatten_with_path(node, is_leaf=lambda child: child is not node)
    return {path[0]: child for path, child in below}


def _name_in(children: dict[Any, PyTree], key: Any) -> str:
    return _name(children[key]) if key in children else "nothing"


def _name(node: PyTree) -> str:
    if node is None:
        return "None"
    return "a leaf" if jax.tree_util.all_leaves([node]) else f"a {type(node).__name__}"


def gradient_leaves(target: PyTree, grads: PyTree) -> list[jax.Array]:
    """The gradients in the order of the target's leaves, as arrays of the same shapes.

    Raises:
      ValueError: the gradients have another structure or shape; the message names the path.
    """
    params = Target(target)
    leaves = params.flatten(grads, "gradients")
    params.refuse_misshapen(leaves)
    return list(map(jnp.asarray, leaves))


def _fits(grad: Leaf, param: Leaf) -> bool:
    # A fast test for nearly all leaves: each trace tests each of them.
    dtype = getattr(grad, "dtype", None)
    if dtype is not None and dtype == getattr(param, "dtype", None) and _number_kind_of(dtype):
        return bool(grad.shape == param.shape)
    return _shape(grad) == _shape(param) and not _is_complex_for_real(grad, param)


def _shape(leaf: Leaf) -> tuple[int, ...] | None:
    return np.shape(leaf) if number_kind(leaf) else None


def _is_complex_for_real(grad: Leaf, param: Leaf) -> bool:
    return (number_kind(grad), number_kind(param)) == ("complex", "real")


NumberKind: TypeAlias = Literal["real", "complex", ""]


def number_kind(leaf: Any) -> NumberKind:
    """The kind of a Python number, or of the numbers in an array; "" if jax has no numbers there.

    Jax cannot compute with texts, objects, keys, and ``float0``, the derivative of integers.
    """
    dtype = getattr(leaf, "dtype", None)
    if dtype is not None:
        return _number_kind_of(dtype)
    if isinstance(leaf, complex):
        return "complex"
    return "real" if isinstance(leaf, bool | int | float) else ""


@cache
def _number_kind_of(dtype: Any) -> NumberKind:
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return "complex"
    is_real = any(jnp.issubdtype(dtype, kind) for kind in (jnp.number, np.bool_))
    return "real" if is_real else ""


def _describe(grad: Leaf) -> str:
    if getattr(grad, "dtype", None) == jax.dtypes.float0:
        return (
            "no numbers but float0, the derivative of integers (leave integers out with"
            " `create(target, focus=...)`)"
        )
    if not number_kind(grad):
        dtype = getattr(grad, "dtype", None)
        return f"no array but {type(grad).__name__}" if dtype is None else f"no numbers but {dtype}"
    return f"shape {np.shape(grad)}"


def as_floats(leaf: Leaf, gradient: Leaf) -> tuple[jax.Array, jax.Array]:
    """A parameter and its gradient as arrays; an integer parameter becomes a float, as in flax."""
    array, grad = jnp.asarray(leaf), jnp.asarray(gradient)
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        array = array.astype(jnp.result_type(array, grad, 1.0))
    return array, grad


def inexact_moments(state: ParamState, param: jax.Array) -> ParamState:
    """The state of one parameter as jax arrays, with moments that can hold fractions.

    A restored state holds numpy arrays. Outside a trace, numpy would compute with them, by other
    rules.
    """
    if all(map(_holds_fractions, jax.tree.leaves(state))):
        return state

    def inexact(moment: Leaf) -> jax.Array:
        dtype = jnp.result_type(moment)
        return jnp.asarray(moment, dtype if jnp.issubdtype(dtype, jnp.inexact) else param.dtype)

    return jax.tree.map(inexact, state)


def _holds_fractions(moment: Leaf) -> bool:
    """True for a moment that is already a jax array with a floating-point dtype of its own."""
    return (
        isinstance(moment, jax.Array)
        and jnp.issubdtype(moment.dtype, jnp.inexact)
        and not moment.weak_type
    )


def zeros_like(param: Leaf) -> jax.Array:
    """The result of ``jnp.zeros_like(param)``, in a sixth of the time."""
    if isinstance(param, jax.Array) and not isinstance(param, jax.core.Tracer):
        # If a parameter is bound to its devices, jax binds the zeros too. Jax 0.4.30 does not tell.
        is_bound = getattr(param, "committed", True)
        if not is_bound and isinstance(param.dtype, np.dtype) and not param.weak_type:
            return _zeros(param.shape, param.dtype)()
    return jnp.zeros_like(param)


@lru_cache(maxsize=4096)
def _zeros(shape: tuple[int, ...], dtype: Any) -> Callable[[], jax.Array]:
    return jax.jit(partial(jnp.zeros, shape, dtype))


@contextlib.contextmanager
def collecting_later() -> Iterator[None]:
    """Put off Python's garbage collection for a block that makes objects for every leaf.

    All these objects are in use until the end of the block. The collector would search them, and
    the whole program, again and again, and find nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def step_count(step: Leaf) -> jax.Array:
    """The step as a jax array. A restored step is numpy's, and up to Flax 0.2.2 it was an int.

    Something in place of a step, such as a shape or axes, stays.
    """
    if not isinstance(step, int | float | np.ndarray | np.generic):
        return step  # type: ignore[no-any-return]
    count = jnp.asarray(step)
    return count if jnp.issubdtype(count.dtype, jnp.inexact) else count.astype(jnp.int32)


def unshared(tree: PyTree) -> PyTree:
    """The tree with an array of its own at every leaf, because jax donates no buffer twice."""
    seen: set[int] = set()

    def own(leaf: Leaf) -> Leaf:
        if id(leaf) in seen and isinstance(leaf, jax.Array) and not is_abstract(leaf):
            return leaf.copy()
        seen.add(id(leaf))
        return leaf

    return jax.tree.map(own, tree)


def is_abstract(*leaves: Leaf) -> bool:
    """True if any leaf is being traced by jit, vmap, grad or another transformation."""
    # Thousands of leaves have few types, so the set is fast.
    return any(issubclass(kind, jax.core.Tracer) for kind in set(map(type, leaves)))

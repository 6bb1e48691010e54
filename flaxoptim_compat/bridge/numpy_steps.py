"""Steps for parameters, gradients and moments that are numpy arrays or Python numbers.

Outside jit an operator between two numpy arrays is numpy's: a float64 array stays float64 until it
meets a function of jax or a jax array. Optax calls functions of jax where flax did, and uses
operators where flax did, with one exception: flax called jax for squares.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.bridge.definition import Assignment, Leaf, ParamState
from flaxoptim_compat.bridge.traced import as_exponent
from flaxoptim_compat.bridge.train_state import filled, nodes
from flaxoptim_compat.bridge.trees import as_floats, inexact_moments, step_count
from flaxoptim_compat.transforms.casting import with_dtype, with_update

_NUMPY_TYPES = (np.ndarray, np.generic, float)


class _SquaredByJax:
    """A value whose square is computed by jax, as in flax, although optax uses an operator."""

    def __pow__(self, exponent: Any) -> Any:
        # Optax takes the first power for the first moment.
        return self if exponent == 1 else jnp.asarray(self) ** exponent


class _ArraySquaredByJax(_SquaredByJax, np.ndarray[Any, Any]):  # type: ignore[misc]
    """A numpy array that is squared by jax."""


class _NumberSquaredByJax(_SquaredByJax, float):  # type: ignore[misc]
    """A Python number that is squared by jax."""


def _with_operators(leaf: Leaf, in_jax: Leaf) -> Leaf:
    """The leaf, if numpy or Python computes with it by their own rules; otherwise ``in_jax``."""
    if not _is_numpys(leaf):
        return in_jax
    return (
        _NumberSquaredByJax(leaf)
        if type(leaf) is float
        else np.asarray(leaf).view(_ArraySquaredByJax)
    )


def _is_numpys(leaf: Leaf) -> bool:
    """True for a floating-point array of numpy and for a Python float."""
    return isinstance(leaf, _NUMPY_TYPES) and jnp.issubdtype(np.result_type(leaf), jnp.floating)


def left_to_numpy(
    leaves: Sequence[Leaf], states: Sequence[ParamState], gradients: Sequence[Leaf]
) -> Iterator[int]:
    """The indices of the parameters whose step was computed by numpy in flax, in part at least."""
    types = set(map(type, [*leaves, *gradients, *jax.tree.leaves(states)]))
    # Nearly every step has jax arrays only.
    if not any(issubclass(each, _NUMPY_TYPES) for each in types):
        return
    for index, (leaf, state, gradient) in enumerate(zip(leaves, states, gradients, strict=True)):
        param_and_moments = [leaf, *jax.tree.leaves(state)]
        # Without a gradient of numpy, every result is a jax array.
        stays = _is_numpys(gradient) and any(map(_is_numpys, param_and_moments))
        if stays or any(map(_is_wider, [gradient, *param_and_moments])):
            yield index


def _is_wider(leaf: Leaf) -> bool:
    """True for a numpy array with a wider dtype than jax's, which jax would round first."""
    return (
        isinstance(leaf, np.ndarray | np.generic)
        and _is_numpys(leaf)
        and jax.dtypes.canonicalize_dtype(leaf.dtype) != leaf.dtype
    )


def by_operators(
    assignment: Assignment, step: Leaf, leaf: Leaf, state: ParamState, gradient: Leaf
) -> tuple[Leaf, ParamState]:
    """One parameter after a step, and its new state; numpy computes with its own arrays.

    The assignment may move other parameters too.
    """
    definition = assignment.definition
    formula = definition.formula
    assert formula is not None
    param, grad = map(_with_operators, (leaf, gradient), as_floats(leaf, gradient))
    old = jax.tree.map(_with_operators, state, inexact_moments(state, param))
    # Without hyper_params.inject, which would turn numbers into jax arrays.
    tx = formula.transformation(definition.values(assignment.hyper_params))
    # Fetched from its device, because each parameter may be on another one.
    count = as_exponent(step_count(jax.device_get(step)), [param])
    before = filled(tx.init(()), count, formula.to_optax([old], operator.itemgetter(0)))
    with warnings.catch_warnings():
        # Optax casts moments to their old dtype, and jax warns that it has no float64.
        warnings.filterwarnings("ignore", "Explicitly requested dtype", UserWarning)
        update, after = tx.update(grad, before, param)
    (new,) = formula.from_optax(
        nodes(after, formula.state_fields), lambda: [old], lambda tree: [tree]
    )
    return _as_returned(with_update(param, update), param), jax.tree.map(_as_returned, new, old)


def _as_returned(new: Leaf, old: Leaf) -> Leaf:
    """A parameter or a moment after a step, in the type and dtype that flax returned."""
    # Flax returned a jax array also for an unused field of the state, which optax leaves as it is.
    new = jnp.asarray(new) if new is old else new
    if isinstance(new, float):
        return new
    dtype = jnp.result_type(old)
    if isinstance(new, jax.Array):
        return with_dtype(new, dtype)
    # Half precision stays, as in every step. The index makes a number of an array without
    # dimensions, like numpy's arithmetic.
    return np.asarray(new, dtype if dtype.itemsize < 4 else None)[()]

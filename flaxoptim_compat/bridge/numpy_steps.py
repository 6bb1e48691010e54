"""Parameters, gradients and moments that are no arrays of jax, which flax left to numpy.

Outside jit an operator between two arrays of numpy is numpy's, and what is float64 stays float64 up
to the first function of jax, or the first array of jax, that it meets. Optax calls functions of jax
where flax did, and has operators where flax had some, but for one: flax had jax take squares.
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

_KINDS = (np.ndarray, np.generic, float)


class _SquaredByJax:
    """A value that optax squares by an operator, where flax called jax."""

    def __pow__(self, exponent: Any) -> Any:
        # The first moment is one of first powers.
        return self if exponent == 1 else jnp.asarray(self) ** exponent


class _Array(_SquaredByJax, np.ndarray[Any, Any]):  # type: ignore[misc]
    """An array of numpy."""


class _Number(_SquaredByJax, float):  # type: ignore[misc]
    """A number of Python."""


def _with_operators(leaf: Leaf, in_jax: Leaf) -> Leaf:
    """A leaf by whose rules is computed what flax did by operators: else it is ``in_jax``."""
    if not _is_numpys(leaf):
        return in_jax
    return _Number(leaf) if type(leaf) is float else np.asarray(leaf).view(_Array)


def _is_numpys(leaf: Leaf) -> bool:
    """True if numpy, or Python, computes with this by rules of its own."""
    return isinstance(leaf, _KINDS) and jnp.issubdtype(np.result_type(leaf), jnp.floating)


def left_to_numpy(
    leaves: Sequence[Leaf], states: Sequence[ParamState], gradients: Sequence[Leaf]
) -> Iterator[int]:
    """Which parameters need numpy for the numbers, or the arrays, that they had in flax."""
    kinds = set(map(type, [*leaves, *gradients, *jax.tree.leaves(states)]))
    # Nearly every step ends here.
    if not any(issubclass(kind, _KINDS) for kind in kinds):
        return
    for index, (leaf, state, gradient) in enumerate(zip(leaves, states, gradients, strict=True)):
        others = [leaf, *jax.tree.leaves(state)]
        # An array of numpy can only come of a gradient of numpy.
        stays = _is_numpys(gradient) and any(map(_is_numpys, others))
        if stays or any(map(_is_wider, [gradient, *others])):
            yield index


def _is_wider(leaf: Leaf) -> bool:
    """True if jax would round this before it computes with it."""
    return (
        isinstance(leaf, np.ndarray | np.generic)
        and _is_numpys(leaf)
        and jax.dtypes.canonicalize_dtype(leaf.dtype) != leaf.dtype
    )


def by_operators(
    assignment: Assignment, step: Leaf, leaf: Leaf, state: ParamState, gradient: Leaf
) -> tuple[Leaf, ParamState]:
    """One parameter after a step, and its state, with all that numpy holds left to numpy.

    Args:
      assignment: what moves the parameter, perhaps among others.
      step: the number of steps done.
      leaf: the parameter.
      state: that of the parameter.
      gradient: that of the parameter.
    """
    definition = assignment.definition
    formula = definition.formula
    assert formula is not None
    param, grad = map(_with_operators, (leaf, gradient), as_floats(leaf, gradient))
    old = jax.tree.map(_with_operators, state, inexact_moments(state, param))
    # Not by hyper_params.inject, which would make an array of jax of a number.
    tx = formula.transformation(definition.values(assignment.hyper_params))
    # From wherever the step is: each parameter may be on a device of its own.
    count = as_exponent(step_count(jax.device_get(step)), [param])
    before = filled(tx.init(()), count, formula.to_optax([old], operator.itemgetter(0)))
    with warnings.catch_warnings():
        # Optax casts moments to the dtype they had, and jax says that it has no float64.
        warnings.filterwarnings("ignore", "Explicitly requested dtype", UserWarning)
        update, after = tx.update(grad, before, param)
    (new,) = formula.from_optax(nodes(after, formula.state_fields), [old], lambda tree: [tree])
    return _settled(with_update(param, update), param), jax.tree.map(_settled, new, old)


def _settled(new: Leaf, old: Leaf) -> Leaf:
    """A parameter or a moment as it is returned."""
    # What flax kept for nothing it made anew.
    new = jnp.asarray(new) if new is old else new
    if isinstance(new, float):
        return new
    dtype = jnp.result_type(old)
    if isinstance(new, jax.Array):
        return with_dtype(new, dtype)
    # Half precision stays, here as everywhere. Arithmetic of numpy makes numbers of arrays without
    # dimensions.
    return np.asarray(new, dtype if dtype.itemsize < 4 else None)[()]

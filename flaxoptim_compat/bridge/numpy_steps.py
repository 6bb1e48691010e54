"""Steps of parameters that are no arrays of jax: flax left them to numpy, which has other rules.

With numpy's float64 parameters and gradients the arithmetic of flax was done in 64 bits, whatever
jax is told of them. An optimizer that does nothing but to add and to multiply returned what numpy
returns; the others called jax somewhere, and returned its arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.bridge.definition import Definition, Leaf, ParamState
from flaxoptim_compat.bridge.traced import Outcome
from flaxoptim_compat.versions.of_jax import enable_x64


def moved_by_numpy(
    definition: Definition,
    leaves: Sequence[Leaf],
    states: Sequence[ParamState],
    gradients: Sequence[Leaf],
    step: Callable[[Sequence[Leaf], Sequence[ParamState]], Outcome],
) -> Outcome | None:
    """Do a step in which there is no array of jax as numpy would have done it.

    Args:
      definition: what the step does.
      leaves: the parameters.
      states: the state of each.
      gradients: the gradient of each.
      step: does the step of such parameters and states with jax.

    Returns:
      What the step comes to, or None where numpy would not have done it.
    """
    # Nearly every step ends here, at the first parameter.
    if not leaves or not all(map(_is_of_numpy, [*leaves, *gradients])):
        return None
    moments = jax.tree.leaves(states)
    formula = definition.formula
    if formula is None or not all(map(_is_of_numpy, moments)):
        return None
    wide = (np.result_type(each) == np.float64 for each in [*leaves, *gradients, *moments])
    if not formula.operators_only and not any(wide):
        return None
    if not formula.operators_only:
        with enable_x64(True):
            moved, count, new_states = step(leaves, states)
        return list(map(_in_jax, moved)), count, jax.tree.map(_in_jax, list(new_states))
    widened = [_widened(*each) for each in zip(leaves, states, gradients, strict=True)]
    leaves, states = [leaf for leaf, _ in widened], [state for _, state in widened]
    with enable_x64(True):
        moved, count, new_states = step(leaves, states)
    return (
        list(map(_in_numpy, moved, leaves)),
        count,
        [jax.tree.map(_in_numpy, *each) for each in zip(new_states, states, strict=True)],
    )


def _is_of_numpy(leaf: Leaf) -> bool:
    """Whether numpy, or Python, computes with this by rules of its own."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind == "f"
    return isinstance(leaf, float)


def _widened(leaf: Leaf, state: ParamState, gradient: Leaf) -> tuple[Leaf, ParamState]:
    """A parameter and its moments in the dtypes that sums of numpy would have."""
    moments = jax.tree.leaves(state)
    dtype = np.result_type(gradient, *moments)
    return _at_least(leaf, dtype), jax.tree.map(lambda moment: _at_least(moment, dtype), state)


def _at_least(leaf: Leaf, dtype: Any) -> Leaf:
    # Half precision stays, here as everywhere.
    is_single = getattr(leaf, "dtype", None) == np.float32
    return np.asarray(leaf, dtype) if is_single and dtype == np.float64 else leaf


def _in_numpy(new: Leaf, old: Leaf) -> Leaf:
    if isinstance(old, float) and not isinstance(old, np.generic):
        return float(new)
    # Arithmetic of numpy makes numbers of arrays without dimensions.
    return np.array(new)[()]


def _in_jax(leaf: Leaf) -> jax.Array:
    return jnp.asarray(np.asarray(leaf))

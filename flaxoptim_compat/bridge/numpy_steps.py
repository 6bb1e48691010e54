"""Steps of parameters that are no arrays of jax: flax left them to numpy, which has other rules.

With numpy's float64 parameters and gradients the arithmetic of flax was done in 64 bits, whatever
jax is told of them. An optimizer that does nothing but to add and to multiply returned what numpy
returns; the others called jax somewhere, and returned its arrays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import experimental

from flaxoptim_compat.bridge.definition import Definition, Leaf, ParamState
from flaxoptim_compat.bridge.traced import Outcome


def moved_by_numpy(
    definition: Definition,
    leaves: Sequence[Leaf],
    states: Sequence[ParamState],
    gradients: Sequence[Leaf],
    step: Callable[[], Outcome],
) -> Outcome | None:
    """Do a step in which there is no array of jax as numpy would have done it.

    Args:
      definition: what the step does.
      leaves: the parameters.
      states: the state of each.
      gradients: the gradient of each.
      step: does the step with jax.

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
    with _wide():
        moved, count, new_states = step()
    if not formula.operators_only:
        return list(map(_in_jax, moved)), count, jax.tree.map(_in_jax, list(new_states))
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


def _wide() -> contextlib.AbstractContextManager[None]:
    """A block in which jax keeps 64 bits, in this thread."""
    # Up to jax 0.7 it is in jax.experimental.
    wide: Any = vars(jax if hasattr(jax, "enable_x64") else experimental)["enable_x64"]
    return cast("contextlib.AbstractContextManager[None]", wide(True))


def _in_numpy(new: Leaf, old: Leaf) -> Leaf:
    if isinstance(old, float) and not isinstance(old, np.generic):
        return float(new)
    # Arithmetic of numpy makes numbers of arrays without dimensions.
    return np.array(new)[()]


def _in_jax(leaf: Leaf) -> jax.Array:
    return jnp.asarray(np.asarray(leaf))

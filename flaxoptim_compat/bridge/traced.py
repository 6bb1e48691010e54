"""The step itself: from the legacy tree through optax and a TrainState back to the legacy tree.

A transformation of jax traces the step; on concrete arrays every operation runs by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.bridge.definition import Assignment, Definition, HyperParams, Leaf, ParamState
from flaxoptim_compat.bridge.train_state import Conversion, to_train_state
from flaxoptim_compat.bridge.trees import Target, as_floats, inexact_moments, step_count

# The new leaves, None for a leaf that no optimizer moves; the new count; the state of every leaf.
Outcome = tuple[Sequence[Leaf], Leaf, Sequence[ParamState]]


class Step(NamedTuple):
    """One step before it is done.

    Args:
      definition: the definition, which says what the step does.
      hyper_params: the hyper-parameters of this step, normalised.
      target: the parameters.
      count: the number of steps done.
      states: the state of each leaf of the target.
      gradients: the gradient of each leaf of the target.
    """

    definition: Definition
    hyper_params: HyperParams
    target: Target
    count: Leaf
    states: Sequence[ParamState]
    gradients: Sequence[Leaf]

    def assign(self, eligible: Sequence[int]) -> list[Assignment]:
        """The definitions and the eligible leaves that each one moves."""
        return self.definition.assign(self.hyper_params, self.target.tree, eligible)


# Takes the place of a leaf that no optimizer moves, and of its gradient.
_UNMOVED: Leaf = np.float32(0)


def _by_device(assignments: Sequence[Assignment], leaves: Sequence[Leaf]) -> list[list[Assignment]]:
    """The assignments split by devices: each group has leaves on one set of devices only."""
    selected = sorted(index for each in assignments for index in each.leaves)
    devices = {index: frozenset(leaves[index].devices()) for index in selected}
    groups = []
    for place in dict.fromkeys(devices.values()):
        group = [
            dataclasses.replace(
                each, leaves=tuple(index for index in each.leaves if devices[index] == place)
            )
            for each in assignments
        ]
        groups.append([each for each in group if each.leaves])
    return groups


def traced(step: Step, by_device: bool = False) -> Outcome:
    """The outcome of a step.

    With ``by_device``, leaves may be on different devices. Such leaves cannot be computed together:
    the step then computes one set of devices after the other.
    """
    count = step_count(step.count)
    assignments = step.assign(range(len(step.gradients)))
    optax_only = [each for each in assignments if goes_through_optax(each, step.definition)]
    # A leaf that no optimizer moves may be a key, and its gradient None or float0.
    leaves: list[Leaf] = [_UNMOVED] * len(step.gradients)
    gradients, states = list(leaves), list(step.states)
    for each in assignments:
        pairs = map(as_floats, each.pick(step.target.leaves), each.pick(step.gradients))
        for index, pair in zip(each.leaves, pairs, strict=True):
            leaves[index], gradients[index] = pair
    # The state of a user's definition may hold anything, such as a count.
    for each in optax_only:
        each.put(map(inexact_moments, each.pick(states), each.pick(leaves)), states)
    new_leaves: list[Leaf] = [None] * len(leaves)
    new_states: list[ParamState] = [None] * len(leaves)
    groups = _by_device(optax_only, leaves) if by_device else [optax_only]
    for group in filter(None, groups):
        here = jax.device_get(count) if len(groups) > 1 else count
        moved, moved_states = _through_train_state(group, leaves, here, states, gradients)
        for each in group:
            each.put(each.pick(moved), new_leaves)
            each.put(each.pick(moved_states), new_states)
    for each in assignments:
        if each not in optax_only:
            own_leaves, own_states, own_gradients = map(each.pick, (leaves, states, gradients))
            moved, moved_states = each.definition.step_of_leaves(
                each.hyper_params, own_leaves, count, own_states, own_gradients
            )
            each.put(moved, new_leaves)
            each.put(moved_states, new_states)
    return tuple(new_leaves), count + 1, tuple(new_states)


def goes_through_optax(part: Assignment, whole: Definition) -> bool:
    """True if optax runs a part of a step, and not the code of the part's own definition.

    A step calls the code of the whole definition before it comes here.
    """
    return part.definition is whole or not part.definition.own_code().must_be_called


def _through_train_state(
    assignments: Sequence[Assignment],
    leaves: Sequence[Leaf],
    step: Leaf,
    states: Sequence[ParamState],
    grads: Sequence[jax.Array],
) -> tuple[Sequence[Leaf], Sequence[ParamState]]:
    params = tuple(leaves)
    conversion = Conversion(assignments, params)
    count = as_exponent(step, leaves)
    opt_state = conversion.opt_state(count, states)
    before = to_train_state(conversion.transformation(), params, count, opt_state)
    after = before.apply_gradients(grads=tuple(grads))
    return after.params, conversion.param_states(after.opt_state, lambda: states)


def as_exponent(step: Leaf, leaves: Sequence[Leaf]) -> jax.Array:
    """The step count in a dtype for which ``beta2 ** step`` has the bits that it had in flax.

    Outside a trace, jax multiplies repeatedly for an integer exponent. In a trace, and for a float
    exponent as in flax, jax calls pow. Near 1 - beta2 ** 1 = 0.001 the last bit matters. With
    64-bit numbers, the power of a Python number with an integer exponent would be a float64. With
    strict promotion of dtypes, such a power is an error.
    """
    config: Any = jax.config
    usual = not config.jax_enable_x64 and config.jax_numpy_dtype_promotion == "standard"
    if usual and isinstance(step, jax.core.Tracer):
        return step
    # The absolute value has the real dtype of a complex one.
    dtype = jnp.abs(jnp.zeros((), jnp.result_type(jnp.float32, *leaves))).dtype
    return jnp.asarray(step).astype(dtype)

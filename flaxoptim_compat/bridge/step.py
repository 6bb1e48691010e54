"""One step of a definition: part of a trace inside one, compiled by itself outside."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax

from flaxoptim_compat.bridge.compiled import compiled, plan
from flaxoptim_compat.bridge.definition import Definition, HyperParams, Leaf, ParamState, PyTree
from flaxoptim_compat.bridge.numpy_steps import moved_by_numpy
from flaxoptim_compat.bridge.traced import Outcome, traced
from flaxoptim_compat.bridge.trees import Target, is_abstract, step_count


def apply_gradient(
    definition: Definition,
    hyper_params: HyperParams,
    params: PyTree,
    step: Leaf,
    param_states: PyTree,
    grads: PyTree,
) -> tuple[PyTree, Leaf, PyTree]:
    """Do one step and return the parameters, the step count and the per-parameter states.

    Raises:
      AssertionError: there is no learning rate.
      ValueError: gradients or states do not have the structure of the parameters.
    """
    hyper_params = definition.normalise(hyper_params)
    target = Target(params)
    states = target.flatten(param_states, "param_states")
    gradients = target.flatten(grads, "gradients")
    # Where states alone are traced, compiled steps are calls inside that trace.
    if is_abstract(step, *jax.tree.leaves(hyper_params), *target.leaves, *gradients):
        outcome = traced(definition, hyper_params, target, step, states, gradients)
    else:
        args = definition, hyper_params, target, step, states, gradients
        on_jax = functools.partial(_concrete, *args)
        outcome = moved_by_numpy(definition, target.leaves, states, gradients, on_jax) or on_jax()
    leaves, count, new_states = outcome
    # Leaves that no optimizer moves stay the very objects they were.
    new = [old if leaf is None else leaf for leaf, old in zip(leaves, target.leaves, strict=True)]
    return target.treedef.unflatten(new), count, target.treedef.unflatten(new_states)


def _concrete(
    definition: Definition,
    hyper_params: HyperParams,
    target: Target,
    step: Leaf,
    states: Sequence[ParamState],
    gradients: Sequence[Leaf],
) -> Outcome:
    planned = plan(definition, hyper_params)
    if planned is not None:
        try:
            return compiled(*planned, target, step_count(step), states, gradients)
        except ValueError as error:
            failure = error
        if "incompatible devices" not in str(failure):
            # A batch does not know the paths of the target, which a message should name.
            target.refuse_misshapen(gradients)
            raise failure
    return traced(definition, hyper_params, target, step, states, gradients, by_device=True)

"""One step of a definition: inside a trace a part of the trace, outside compiled by itself."""

from __future__ import annotations

import jax

from flaxoptim_compat.bridge.compiled import compiled, step_plan
from flaxoptim_compat.bridge.definition import Definition, HyperParams, Leaf, PyTree
from flaxoptim_compat.bridge.numpy_steps import by_operators, left_to_numpy
from flaxoptim_compat.bridge.strictness import is_strict, let_pass
from flaxoptim_compat.bridge.traced import Outcome, Step, goes_through_optax, traced
from flaxoptim_compat.bridge.trees import Target, is_abstract, step_count


def run_step(
    definition: Definition,
    hyper_params: HyperParams,
    params: PyTree,
    count: Leaf,
    param_states: PyTree,
    grads: PyTree,
) -> tuple[PyTree, Leaf, PyTree]:
    """Do one step and return the parameters, the step count and the per-parameter states.

    Raises:
      AssertionError: there is no learning rate.
      TypeError: a hyper-parameter is no real number.
      ValueError: gradients or states do not have the structure of the parameters, or gradients do
        not broadcast to their shapes, or are no numbers, or complex where parameters are real.
    """
    hyper_params = definition.normalise(hyper_params)
    target = Target(params)
    states = target.flatten(param_states, "param_states")
    gradients = definition.gradients_of_leaves(target, grads)
    step = Step(definition, hyper_params, target, count, states, gradients)
    # If only states are traced, the calls of compiled steps become part of that trace.
    if is_abstract(count, *jax.tree.leaves(hyper_params), *target.leaves, *gradients):
        _let_broadcast(step)
        leaves, count, new_states = traced(step)
    else:
        leaves, count, new_states = _outside_jit(step)
    # A leaf that no optimizer moves stays the same object.
    new = [old if leaf is None else leaf for leaf, old in zip(leaves, target.leaves, strict=True)]
    return target.treedef.unflatten(new), count, target.treedef.unflatten(new_states)


def _outside_jit(step: Step) -> Outcome:
    """The step on arrays with values: in jax, except for parameters that flax left to numpy."""
    old, states, gradients = step.target.leaves, step.states, step.gradients
    of_numpy = [*left_to_numpy(old, states, gradients)]
    if not of_numpy:
        return _in_jax(step)
    mover_of = {
        leaf: part
        for part in step.assign(of_numpy)
        if goes_through_optax(part, step.definition)
        for leaf in part.leaves
    }
    outcome: Outcome = old, step_count(step.count) + 1, states
    if len(mover_of) == len(old):
        _let_broadcast(step)
    else:
        # For all leaves. The few that need numpy are computed once more below.
        outcome = _in_jax(step)
    leaves, count, new_states = list(outcome[0]), outcome[1], list(outcome[2])
    for leaf, part in mover_of.items():
        leaves[leaf], new_states[leaf] = by_operators(
            part, step.count, old[leaf], states[leaf], gradients[leaf]
        )
    return leaves, count, new_states


def _in_jax(step: Step) -> Outcome:
    planned = step_plan(step.definition, step.hyper_params)
    if planned is not None:
        try:
            return compiled(*planned, step)
        except (TypeError, ValueError) as error:
            failure: Exception = error
        # The error of a batch names neither a path of the target nor a line of the program.
        broadcast = _let_broadcast(step)
        if not broadcast and "incompatible devices" not in str(failure):
            raise failure
    else:
        _let_broadcast(step)
    return traced(step, by_device=True)


def _let_broadcast(step: Step) -> bool:
    """Warn of gradients of other shapes than their parameters; returns True if there are any.

    Raises:
      ValueError: flax refused such a gradient, or ``strict()`` refuses it.
    """
    target, gradients = step.target, step.gradients
    misshapen = list(target.misshapen(gradients))
    # Nearly every step has none, and need not ask what moves them.
    parts = step.assign(misshapen) if misshapen else []
    mover = {index: part.definition for part in parts for index in part.leaves}
    differences = []
    for index in sorted(mover):
        difference = target.difference(index, gradients[index])
        shape = target.broadcast_shape(index, gradients[index])
        if is_strict() or shape is None or not mover[index].broadcasts:
            raise ValueError(f"{difference}.")
        differences.append(f"{difference}. As in flax.optim, both are broadcast to {shape}.")
    if differences:
        more = f" There are {len(mover) - 1} more like it." if len(mover) > 1 else ""
        let_pass(f"{differences[0]}{more}")
    return bool(differences)

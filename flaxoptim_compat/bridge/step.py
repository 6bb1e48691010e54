"""One step of a definition, by way of optax and a TrainState.

Inside a trace it is part of the trace. On concrete arrays it is one cached compiled call instead of
hundreds of small kernels, unless that is switched off.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.masks import Assignment
from flaxoptim_compat.bridge.train_state import Conversion, to_train_state
from flaxoptim_compat.bridge.trees import (
    gradient_leaves,
    inexact_moments,
    is_abstract,
    leaves_like,
    parameter_leaves,
    step_count,
)

# A decay rate such as beta2 is built into the compiled step. A program that overrides it with ever
# new numbers would compile at every step: past this many it runs kernel by kernel, as flax did.
MAX_VARIANTS = 8


# The new leaves, None for those that no optimizer moves; the step; the tree of states.
_Outcome = tuple[Sequence[Any], Any, Any]


@dataclasses.dataclass
class _Settings:
    compiled: bool


_settings = _Settings(compiled=os.environ.get("FLAXOPTIM_COMPAT_COMPILED", "1") != "0")
_variants: dict[type, list[Any]] = {}


@contextlib.contextmanager
def compiled_steps(enabled: bool) -> Iterator[None]:
    """Switch the compiled step outside jit on or off for a block.

    The environment variable ``FLAXOPTIM_COMPAT_COMPILED=0`` switches it off for a whole program.
    """
    before = _settings.compiled
    _settings.compiled = enabled
    try:
        yield
    finally:
        _settings.compiled = before


@dataclasses.dataclass(frozen=True, eq=False)
class _Plan:
    """All of a step that is not an array: equal plans share a compiled step."""

    definition: Any
    static: Any

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Plan)
            and same(self.static, other.static)
            and (
                self.definition is other.definition
                or same(self.definition.structure(), other.definition.structure())
            )
        )

    def __hash__(self) -> int:
        return hash(type(self.definition))


def apply_gradient(
    definition: Any, hyper_params: Any, params: Any, step: Any, param_states: Any, grads: Any
) -> tuple[Any, Any, Any]:
    """Do one step and return the parameters, the step count and the per-parameter states.

    Raises:
      AssertionError: there is no learning rate.
      ValueError: gradients or states do not have the structure of the parameters.
    """
    hyper_params = definition.normalise(hyper_params)
    originals, treedef = jax.tree.flatten(params)
    arguments = (params, step, param_states, grads)
    if is_abstract(hyper_params, *arguments):
        leaves, *counts_and_states = _traced(definition, hyper_params, *arguments)
    else:
        leaves, *counts_and_states = _concrete(definition, hyper_params, arguments)
    # Leaves that no optimizer moves stay the very objects they were.
    new = [old if leaf is None else leaf for leaf, old in zip(leaves, originals, strict=True)]
    return (jax.tree.unflatten(treedef, new), *counts_and_states)


def _concrete(definition: Any, hyper_params: Any, arguments: tuple[Any, Any, Any, Any]) -> _Outcome:
    plan, dynamic = _plan(definition, hyper_params)
    if plan is not None:
        try:
            outcome: _Outcome = _compiled(plan, dynamic, *arguments)
            return outcome
        except ValueError as error:
            if "incompatible devices" not in str(error):
                raise
    return _traced(definition, hyper_params, *arguments, _by_device)


def _plan(definition: Any, hyper_params: Any) -> tuple[_Plan | None, Any]:
    """The plan of the compiled step, or None where it is not to be compiled."""
    if not _settings.compiled or not definition.compiles():
        return None, None
    static, dynamic = hp.separate(hyper_params, definition.hyper_params)
    plan = _Plan(definition, static)
    if hp.builds_in_overrides(hyper_params, definition.hyper_params):
        known = _variants.setdefault(type(definition), [])
        if plan not in known:
            if len(known) >= MAX_VARIANTS:
                return None, None
            known.append(plan)
    return plan, dynamic


@functools.partial(jax.jit, static_argnums=0)
def _compiled(
    plan: _Plan, dynamic: Any, params: Any, step: Any, param_states: Any, grads: Any
) -> _Outcome:
    hyper_params = hp.join(plan.static, dynamic)
    return _traced(plan.definition, hyper_params, params, step, param_states, grads)


def _together(assignments: Sequence[Assignment], leaves: Sequence[Any]) -> list[list[Assignment]]:
    del leaves
    return [list(assignments)] if assignments else []


def _by_device(assignments: Sequence[Assignment], leaves: Sequence[Any]) -> list[list[Assignment]]:
    """Assignments taken apart so that each part touches the leaves of one set of devices only."""
    devices = {index: frozenset(leaf.devices()) for index, leaf in enumerate(leaves)}
    parts = []
    for place in dict.fromkeys(devices.values()):
        part = [
            dataclasses.replace(
                each, leaves=tuple(index for index in each.leaves if devices[index] == place)
            )
            for each in assignments
        ]
        parts.append([each for each in part if each.leaves])
    return [part for part in parts if part]


def _traced(
    definition: Any,
    hyper_params: Any,
    params: Any,
    step: Any,
    param_states: Any,
    grads: Any,
    parts: Any = _together,
) -> _Outcome:
    treedef = jax.tree.structure(params)
    step = step_count(step)
    states = leaves_like(params, param_states, "param_states")
    gradients = gradient_leaves(params, grads)
    leaves = parameter_leaves(params, gradients)
    states = list(map(inexact_moments, states, leaves))
    assignments = definition.assign(hyper_params, params, range(len(leaves)))
    optax_only = [
        each for each in assignments if each.definition is definition or each.definition.on_optax()
    ]
    new_leaves: list[Any] = [None] * len(leaves)
    new_states: list[Any] = [None] * len(leaves)
    split = parts(optax_only, leaves)
    for part in split:
        count = jax.device_get(step) if len(split) > 1 else step
        moved, moved_states = _through_train_state(part, leaves, count, states, gradients)
        for each in part:
            for index in each.leaves:
                new_leaves[index], new_states[index] = moved[index], moved_states[index]
    for each in assignments:
        if each not in optax_only:
            moved, moved_states = each.definition.apply_to_leaves(
                each.hyper_params,
                [leaves[index] for index in each.leaves],
                step,
                [states[index] for index in each.leaves],
                [gradients[index] for index in each.leaves],
            )
            for index, leaf, state in zip(each.leaves, moved, moved_states, strict=True):
                new_leaves[index], new_states[index] = leaf, state
    return tuple(new_leaves), step + 1, jax.tree.unflatten(treedef, new_states)


def _through_train_state(
    assignments: Sequence[Assignment],
    leaves: Sequence[Any],
    step: Any,
    states: Sequence[Any],
    grads: Sequence[Any],
) -> tuple[Sequence[Any], Sequence[Any]]:
    # Any target becomes a mapping with one entry, which is what a TrainState takes.
    boxed = {"target": tuple(leaves)}
    conversion = Conversion(assignments, boxed)
    count = _as_exponent(step, leaves)
    opt_state = conversion.opt_state(count, states)
    before = to_train_state(conversion.transformation(), boxed, count, opt_state)
    after = before.apply_gradients(grads={"target": tuple(grads)})
    return after.params["target"], conversion.param_states(after.opt_state, states)


def _as_exponent(step: Any, leaves: Sequence[Any]) -> Any:
    """The step such that ``beta2 ** step`` has the bits it had in flax.

    Outside a trace jax multiplies repeatedly for an integer exponent; in a trace, and for a float
    exponent as flax had it, it calls pow. Near 1 - beta2 ** 1 = 0.001 the last bit matters.
    """
    if isinstance(step, jax.core.Tracer):
        return step
    return jnp.asarray(step).astype(jnp.result_type(jnp.float32, *leaves))

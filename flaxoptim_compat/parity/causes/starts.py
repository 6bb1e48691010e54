"""Causes that show in the first states of both sides, whatever their optimizers are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.parity.causes.context import Context
from flaxoptim_compat.parity.findings import Cause
from flaxoptim_compat.parity.sides import Side, side

# {key: (which leaves of a state, their name in a sentence, the remedy)}
_PLANTED: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "initial-accumulator": (
        lambda leaf: bool(jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)),
        "a moment",
        "the same first moments on both sides, as by initial_accumulator_value or initial_scale",
    ),
    "bias-correction-off-by-a-step": (
        lambda leaf: np.ndim(leaf) == 0 and jnp.issubdtype(jnp.result_type(leaf), jnp.integer),
        "its count",
        "the same count in both states before the first step",
    ),
}


def from_starts(subjects: tuple[Any, Any], context: Context) -> tuple[Cause, ...]:
    """The cause, if one side does what the other does once it starts with the other's state."""
    first, second = side(subjects[0]), side(subjects[1])
    for cause, planted in _planted(first, second, context):
        if context.confirms(planted, subjects[1]):
            return (cause,)
    return ()


def _planted(own: Side, other: Side, context: Context) -> Iterator[tuple[Cause, Any]]:
    """The own side with parts of the other side's first state, each with the cause for that."""
    carry, state = _started(own, context.params)
    mine, treedef = jax.tree.flatten(state)
    theirs = jax.tree.leaves(_started(other, context.params)[1])
    if [np.shape(leaf) for leaf in mine] != [np.shape(leaf) for leaf in theirs]:
        return
    for key, (chosen, called, remedy) in _PLANTED.items():
        pairs = [
            (new if chosen(old) and chosen(new) else old, old)
            for old, new in zip(mine, theirs, strict=True)
        ]
        different = [(a, b) for a, b in pairs if not np.array_equal(np.asarray(a), np.asarray(b))]
        if not different:
            continue
        leaves = [jnp.asarray(new, jnp.result_type(old)) for new, old in pairs]
        start = own.with_params(jax.tree.unflatten(treedef, leaves), own.params_of(carry))
        values = [float(np.reshape(np.asarray(each), -1)[0]) for each in different[0]]
        summary = (
            f"The second side starts {called} at {values[0]:g}, the first side at {values[1]:g}."
        )
        yield Cause(key, summary, f"Use {remedy}."), _from(own, start)


def _started(own: Side, params: Any) -> tuple[Any, Any]:
    """The carry of a side before the first step, and the carry without the parameters."""
    begin = own.params if own.params is not None else params
    carry = own.start(jax.tree.map(jnp.array, begin))
    return carry, own.with_params(carry, None)


def _from(own: Side, start: Any) -> Any:
    """The side from another start, as a pair of functions."""

    def step(params: Any, carry: Any, grads: Any, **overrides: Any) -> tuple[Any, Any]:
        del params
        taken = own.overridable(carry, overrides)
        values = {name: value for name, value in overrides.items() if name in taken}
        after = own.step(carry, grads, values)
        return own.params_of(after), after

    return (lambda params: start), step

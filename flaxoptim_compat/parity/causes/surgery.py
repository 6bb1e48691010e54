"""Causes that show in the state, and need no knowledge of the optimizer that keeps it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.parity.causes.context import Context
from flaxoptim_compat.parity.causes.race import Entry, fits, may_be_compiled
from flaxoptim_compat.parity.findings import Cause
from flaxoptim_compat.parity.sides import Side, side

_HALF = ("bfloat16", "float16")
Leaves = list[Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Operation:
    """What to do to the state of one side, and what it means if the other side is that.

    Args:
      cause: what it means.
      start: changes the leaves of the state before the first step.
      step: changes them after each step.
      slight: whether the effect is no more than rounding to half precision.
    """

    cause: Cause
    start: Callable[[Leaves], Leaves]
    step: Callable[[Leaves], Leaves] = lambda leaves: leaves
    slight: bool = False


def from_state(subjects: tuple[Any, Any], context: Context) -> tuple[Cause, ...]:
    """What explains that two sides part, found by operations on their states.

    Args:
      subjects: the two sides, none of which is of flax.optim.
      context: the comparison.
    """
    sides = [side(each) for each in subjects]
    if any(each.recording is not None for each in sides):
        return ()
    for index, ordinal in ((0, "second"), (1, "first")):
        own, other = sides[index], sides[1 - index]
        operations = list(_operations(own, other, ordinal, context))
        compiled = any(may_be_compiled(each, context) for each in subjects)
        variants = [_operated(own, each) for each in operations]
        entries = {
            number: Entry(variant, each.slight and compiled)
            for number, (variant, each) in enumerate(zip(variants, operations, strict=True))
        }
        close, effective = fits(entries, subjects[index], subjects[1 - index], context)
        for number in close:
            pair = (variants[number], subjects[1 - index])
            if number in effective and context.confirms(*pair):
                return (operations[number].cause,)
    return ()


def _operations(own: Side, other: Side, ordinal: str, context: Context) -> Iterator[Operation]:
    state, other_state = (_first_state(each, context.params) for each in (own, other))
    mine, theirs = jax.tree.leaves(state), jax.tree.leaves(other_state)
    if [np.shape(leaf) for leaf in mine] == [np.shape(leaf) for leaf in theirs]:
        yield from _planted(mine, theirs, ordinal)
    for steps in (1, -1):
        count = f"takes the state to be {abs(steps)} step {'later' if steps > 0 else 'earlier'}"
        yield Operation(
            Cause(
                "bias-correction-off-by-a-step",
                f"The {ordinal} side {count} than the other one does.",
                "Use a count of 0 in the state before the first step, as init makes it.",
            ),
            lambda leaves, steps=steps: [  # type: ignore[misc]
                leaf + steps if _is_count(leaf) else leaf for leaf in leaves
            ],
        )
    for dtype in _HALF:
        for name, chosen in _moments(state).items():
            rounded = _rounded(chosen, dtype)
            yield Operation(
                Cause(
                    "low-precision-moments",
                    f"The {ordinal} side keeps {name} in {dtype}.",
                    "Use no mu_dtype and no accumulator_dtype, and moments cast to nothing else.",
                ),
                rounded,
                rounded,
                slight=True,
            )


def _planted(mine: Leaves, theirs: Leaves, ordinal: str) -> Iterator[Operation]:
    """The moments, and the counts, that the other side starts with."""
    for key, what, remedy, chosen in (
        (
            "initial-accumulator",
            "a moment",
            "the same first moments on both sides, as by"
            " initial_accumulator_value or initial_scale",
            _is_moment,
        ),
        (
            "bias-correction-off-by-a-step",
            "its count",
            "the same count in both states before the first step",
            _is_count,
        ),
    ):
        different = [
            index
            for index, pair in enumerate(zip(mine, theirs, strict=True))
            if all(map(chosen, pair))
            and not np.array_equal(np.asarray(pair[0]), np.asarray(pair[1]))
        ]
        if not different:
            continue
        first = different[0]
        values = [float(np.reshape(np.asarray(leaves[first]), -1)[0]) for leaves in (theirs, mine)]

        def plant(leaves: Leaves, indices: Sequence[int] = different) -> Leaves:
            return [
                jnp.asarray(theirs[index], leaf.dtype) if index in indices else leaf
                for index, leaf in enumerate(leaves)
            ]

        yield Operation(
            Cause(
                key,
                f"The {ordinal} side starts {what} at {values[0]:g}, the other one at"
                f" {values[1]:g}.",
                f"Use {remedy}.",
            ),
            plant,
        )


def _operated(own: Side, operation: Operation) -> Any:
    """The side with an operation on its state, as a pair of functions."""

    def init(params: Any) -> Any:
        begin = own.params if own.params is not None else params
        return _changed(own, own.start(begin), operation.start)

    def step(params: Any, carry: Any, grads: Any, **overrides: Any) -> tuple[Any, Any]:
        del params
        taken = own.overridable(carry, overrides)
        values = {name: value for name, value in overrides.items() if name in taken}
        after = _changed(own, own.step(carry, grads, values, None), operation.step)
        return own.params_of(after), after

    return init, step


def _first_state(own: Side, params: Any) -> Any:
    """What a side carries before the first step, without the parameters."""
    begin = own.params if own.params is not None else params
    return own.with_params(own.start(jax.tree.map(jnp.array, begin)), None)


def _changed(own: Side, carry: Any, change: Callable[[Leaves], Leaves]) -> Any:
    """What is carried, with other leaves of the state; no operation may touch the parameters."""
    leaves, treedef = jax.tree.flatten(own.with_params(carry, None))
    changed = jax.tree.unflatten(treedef, change(list(map(jnp.asarray, leaves))))
    return own.with_params(changed, own.params_of(carry))


def _is_count(leaf: Any) -> bool:
    return np.ndim(leaf) == 0 and jnp.issubdtype(jnp.result_type(leaf), jnp.integer)


def _is_moment(leaf: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.inexact))


def _moments(state: Any) -> dict[str, list[int]]:
    """Which leaves of a state are in float32 or more, by the field that they are in."""
    found: dict[str, list[int]] = {}
    for index, (path, leaf) in enumerate(jax.tree_util.tree_leaves_with_path(state)):
        if _is_moment(leaf) and jnp.result_type(leaf).itemsize >= 4:
            fields = [key.name for key in path if isinstance(key, jax.tree_util.GetAttrKey)]
            found.setdefault(fields[-1] if fields else "the moments", []).append(index)
    if len(found) > 1:
        found["all moments"] = [index for indices in found.values() for index in indices]
    return found


def _rounded(chosen: Sequence[int], dtype: str) -> Callable[[Leaves], Leaves]:
    def rounded(leaves: Leaves) -> Leaves:
        return [
            leaf.astype(dtype) if index in chosen else leaf for index, leaf in enumerate(leaves)
        ]

    return rounded

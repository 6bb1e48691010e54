"""Tracing a step takes what it takes in optax by hand: counted, not timed."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.benchmarks.subjects import BY_HAND, DEFINITIONS, OURS, subjects
from tests.support.python_calls import calls_in_package

# How often a trace may enter functions of this package for each leaf.
CALLS_PER_LEAF = {"Adam": 16, "Momentum": 12, "LAMB": 17, "Adafactor": 32, "MultiOptimizer": 18}

by_optimizer = pytest.mark.parametrize("optimizer", DEFINITIONS)


def parameters(leaves: int) -> Any:
    leaf = jax.ShapeDtypeStruct((8,), jnp.float32)
    return {f"layer{index:03d}": {("kernel", "bias")[index % 2]: leaf} for index in range(leaves)}


def tracing(optimizer: str, subject: str, leaves: int) -> Callable[[], Any]:
    """A function that traces the step, each time anew."""
    made = subjects(optimizer)[subject]
    params = parameters(leaves)
    state = jax.eval_shape(made.create, params)

    def step(state: Any, grads: Any) -> Any:
        return made.step(state, grads)

    return lambda: jax.jit(functools.partial(step)).trace(state, params)


def equations(optimizer: str, subject: str, leaves: int) -> Counter[str]:
    jaxpr = tracing(optimizer, subject, leaves)().jaxpr
    return Counter(equation.primitive.name for equation in jaxpr.eqns)


def calls(optimizer: str, leaves: int) -> int:
    """How often a trace enters a function of this package."""
    trace = tracing(optimizer, OURS, leaves)
    trace()  # What is traced but once, and imported but once, is no matter of the leaves.
    return calls_in_package(trace)


@by_optimizer
def test_every_leaf_has_the_equations_that_it_has_by_hand(optimizer: str) -> None:
    ours, by_hand = (
        [equations(optimizer, subject, leaves) for leaves in (4, 8, 12)]
        for subject in (OURS, BY_HAND)
    )
    assert ours[1] - ours[0] == ours[2] - ours[1] == by_hand[1] - by_hand[0]
    assert sum((ours[1] - ours[0]).values()) > 0


@by_optimizer
def test_the_calls_of_a_trace_are_linear_in_the_leaves(optimizer: str) -> None:
    counts = [calls(optimizer, leaves) for leaves in (4, 8, 12)]
    assert counts[2] - counts[1] == counts[1] - counts[0]
    assert 0 < counts[1] - counts[0] <= 4 * CALLS_PER_LEAF[optimizer], counts

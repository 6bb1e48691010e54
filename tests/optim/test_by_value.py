"""jit traces a step once, until a definition changes: definitions are compared by value."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim

PARAMS = {"a": jnp.linspace(-1.0, 2.0, 6).reshape(2, 3), "b": jnp.linspace(0.5, 1.0, 3)}


class Traced:
    """A jitted step, or update, and how often it was traced."""

    def __init__(self) -> None:
        self.count = 0
        self.step = jax.jit(self._step)

    def _step(self, optimizer: Any, **overrides: Any) -> Any:
        self.count += 1
        return optimizer.apply_gradient(optimizer.target, **overrides)


def multi(rate: float = 0.1, part: str = "a", limit: int = 0) -> Any:
    return optim.MultiOptimizer(
        (
            optim.ModelParamTraversal(lambda path, value: part in path and value.size > limit),
            optim.Momentum(rate),
        ),
        (optim.ModelParamTraversal(lambda path, value: path == "/b"), optim.Adam(0.1)),
    )


def with_closure(part: str) -> Any:
    def selects(path: str, value: Any) -> bool:
        return part in path

    return optim.MultiOptimizer((optim.ModelParamTraversal(selects), optim.Adam(0.1)))


def with_partial(part: str) -> Any:
    def selects(wanted: str, path: str, value: Any) -> bool:
        return wanted in path

    selects = functools.partial(selects, part)
    return optim.MultiOptimizer((optim.ModelParamTraversal(selects), optim.Adam(0.1)))


BUILDERS: dict[str, Any] = {
    "Adam": lambda: optim.Adam(0.1, weight_decay=1e-4),
    "numpy rate": lambda: optim.Adam(np.float32(0.1)),
    "jax rate": lambda: optim.Adam(jnp.asarray(0.1)),
    "NaN": lambda: optim.Momentum(float("nan")),
    "Adafactor": lambda: optim.Adafactor(0.1, dtype_momentum=jnp.bfloat16),
    "WeightNorm": lambda: optim.WeightNorm(optim.Momentum(0.1)),
    "MultiOptimizer": multi,
    "closure": lambda: with_closure("a"),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_one_trace_for_all_steps_and_for_equal_definitions(name: str) -> None:
    traced = Traced()
    optimizer = BUILDERS[name]().create(PARAMS)
    for _ in range(4):
        optimizer = traced.step(optimizer)
    for _ in range(3):
        rebuilt = BUILDERS[name]()
        assert rebuilt is not optimizer.optimizer_def
        assert rebuilt == optimizer.optimizer_def
        assert hash(rebuilt) == hash(optimizer.optimizer_def)
        traced.step(rebuilt.create(PARAMS))
    assert traced.count == 1


def test_one_trace_for_all_overrides() -> None:
    traced = Traced()
    optimizer = optim.Adam().create(PARAMS)
    for rate in (0.1, 0.2, 0.3):
        optimizer = traced.step(optimizer, learning_rate=rate)
    assert traced.count == 1


DIFFERENT = {
    "rate": (lambda: optim.Adam(0.1), lambda: optim.Adam(0.2)),
    "type of the rate": (lambda: optim.Adam(1.0), lambda: optim.Adam(jnp.asarray(1.0))),
    "other value": (lambda: optim.Adam(0.1, eps=1e-8), lambda: optim.Adam(0.1, eps=1e-7)),
    "class": (lambda: optim.Momentum(0.1), lambda: optim.GradientDescent(0.1)),
    "momentum dtype": (
        lambda: optim.Adafactor(0.1, beta1=0.9),
        lambda: optim.Adafactor(0.1, beta1=0.9, dtype_momentum=jnp.bfloat16),
    ),
    "wrapped": (
        lambda: optim.WeightNorm(optim.Momentum(0.1)),
        lambda: optim.WeightNorm(optim.Momentum(0.2)),
    ),
    "decay around it": (
        lambda: optim.WeightNorm(optim.Momentum(0.1)),
        lambda: optim.WeightNorm(optim.Momentum(0.1), wn_decay=0.1),
    ),
    "part": (lambda: multi(), lambda: multi(rate=0.2)),
    "closure": (lambda: with_closure("a"), lambda: with_closure("b")),
    "closures": (lambda: multi(), lambda: multi(limit=100)),
    "partial": (lambda: with_partial("a"), lambda: with_partial("b")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_definitions_never_share_a_trace(name: str) -> None:
    first, second = (build() for build in DIFFERENT[name])
    assert first != second
    traced = Traced()
    for definition in (first, second):
        # A function of its own has a cache of its own.
        apart = jax.jit(lambda optimizer: optimizer.apply_gradient(PARAMS))
        expected = apart(definition.create(PARAMS))
        mine = traced.step(definition.create(PARAMS))
        for leaf, other in zip(jax.tree.leaves(mine), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(leaf, other)
    assert traced.count == 2


def test_a_mutable_object_in_a_closure_cannot_be_told_apart_wrongly() -> None:
    class Settings:
        def __init__(self, part: str) -> None:
            self.part = part

    def build(settings: Settings) -> Any:
        selects = lambda path, value: settings.part in path
        return optim.MultiOptimizer((optim.ModelParamTraversal(selects), optim.Momentum(1.0)))

    # Objects without an equality of their own are equal only to themselves.
    assert build(Settings("a")) != build(Settings("a"))
    settings = Settings("a")
    assert build(settings) == build(settings)


def test_definitions_are_usable_as_static_arguments_and_keys() -> None:
    traces = []

    @functools.partial(jax.jit, static_argnums=0)
    def first_step(definition: Any, params: Any) -> Any:
        traces.append(definition)
        return definition.create(params).apply_gradient(params)

    for build in (*BUILDERS.values(), *BUILDERS.values()):
        first_step(build(), PARAMS)
    # "numpy rate" and "jax rate" are arrays of the same dtype and value.
    assert len(traces) in (len(BUILDERS), len(BUILDERS) - 1)
    assert {optim.Adam(0.1): "found"}[optim.Adam(0.1)] == "found"
    assert optim.Adam(0.1) != object()

"""Hyper-parameters assigned to a definition hold from the next call on, compiled or not."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from tests.support.side_by_side import assert_same

PARAMS = {"a": jnp.linspace(-1.0, 2.0, 6).reshape(2, 3), "b": jnp.linspace(0.5, 1.0, 3)}
GRADS = jax.tree.map(jnp.cos, PARAMS)


def multi(namespace: Any) -> Any:
    traversal = namespace.ModelParamTraversal
    return namespace.MultiOptimizer(
        (traversal(lambda path, value: "a" in path), namespace.Momentum(0.1)),
        (traversal(lambda path, value: "b" in path), namespace.Momentum(0.2)),
    )


DEFINITIONS: dict[str, Any] = {
    "Adam": lambda namespace: namespace.Adam(0.1),
    "Momentum": lambda namespace: namespace.Momentum(0.1),
    "MultiOptimizer": multi,
    "WeightNorm": lambda namespace: namespace.WeightNorm(namespace.Momentum(0.1)),
    "own code": lambda namespace: with_own_code(namespace)(0.1),
}


def with_own_code(namespace: Any) -> Any:
    class OwnCode(namespace.GradientDescent):  # type: ignore[misc]
        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            return param - 2 * hyper_params.learning_rate * grad, state

    return OwnCode


def assign_rate(definition: Any, rate: Any) -> None:
    definition.hyper_params = definition.hyper_params.replace(learning_rate=rate)


def assign_list(definition: Any, rate: Any) -> None:
    definition.hyper_params = [each.replace(learning_rate=rate) for each in definition.hyper_params]


def assign_in_list(definition: Any, rate: Any) -> None:
    definition.hyper_params[1] = definition.hyper_params[1].replace(learning_rate=rate)


def assign_wrapped(definition: Any, rate: Any) -> None:
    assign_rate(definition.wrapped_optimizer, rate)


ASSIGNMENTS = [
    ("Adam", assign_rate),
    ("Momentum", assign_rate),
    ("own code", assign_rate),
    ("MultiOptimizer", assign_list),
    ("MultiOptimizer", assign_in_list),
    ("WeightNorm", assign_wrapped),
]


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "outside jit"])
@pytest.mark.parametrize(("name", "assign"), ASSIGNMENTS)
def test_an_assignment_holds_from_the_next_call_on(
    genuine: Any, name: str, assign: Any, jit: bool
) -> None:
    results = []
    for space in (optim, genuine):
        step = lambda optimizer: optimizer.apply_gradient(GRADS)
        if jit and space is optim:
            step = jax.jit(step)  # the genuine one would go on with its old trace
        optimizer = DEFINITIONS[name](space).create(PARAMS)
        history = []
        for rate in (None, 0.7, 0.03, 0.7):
            if rate is not None:
                assign(optimizer.optimizer_def, rate)
            optimizer = step(optimizer)
            history.append(optimizer.target)
        results.append(history)
    assert_same(*results, ulps=8.0)  # compiled here, op by op there


@pytest.mark.parametrize(("name", "assign"), ASSIGNMENTS)
def test_going_back_to_former_values_needs_no_new_trace(name: str, assign: Any) -> None:
    traces = []

    @jax.jit
    def step(optimizer: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(GRADS)

    optimizer = DEFINITIONS[name](optim).create(PARAMS)
    for rate in (0.7, 0.03, 0.7, 0.03, 0.7):
        assign(optimizer.optimizer_def, rate)
        optimizer = step(optimizer)
    assert len(traces) == 2


def test_an_optimizer_that_left_jit_before_an_assignment_obeys_it_after() -> None:
    optimizer = optim.GradientDescent(0.5).create(jnp.zeros(()))
    step = jax.jit(lambda optimizer: optimizer.apply_gradient(jnp.ones(())))
    after = step(optimizer)
    assign_rate(after.optimizer_def, 0.25)
    assert float(step(after).target) == -0.75
    assert float(after.apply_gradient(jnp.ones(())).target) == -0.75
    assign_rate(optimizer.optimizer_def, 4.0)
    assert float(step(optimizer).target) == -4.0


def test_a_snapshot_in_a_tree_keeps_its_hyper_parameters() -> None:
    optimizer = optim.GradientDescent(0.5).create(jnp.zeros(()))
    leaves, treedef = jax.tree.flatten(optimizer)
    assign_rate(optimizer.optimizer_def, 4.0)
    rebuilt = jax.tree.unflatten(treedef, leaves)
    assert rebuilt.optimizer_def.hyper_params.learning_rate == 0.5
    assert float(rebuilt.apply_gradient(jnp.ones(())).target) == -0.5


def test_an_array_as_default_rate_is_compared_by_value() -> None:
    traces = []

    @jax.jit
    def step(optimizer: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(jnp.ones(()))

    results = [
        float(step(optim.GradientDescent(jnp.asarray(rate)).create(jnp.zeros(()))).target)
        for rate in (0.5, 0.5, 0.25, np.float32(0.25), 0.5)
    ]
    assert results == [-0.5, -0.5, -0.25, -0.25, -0.5]
    assert len(traces) == 2

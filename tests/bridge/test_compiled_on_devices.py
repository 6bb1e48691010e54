"""Optimizers whose leaves are on other devices, on several, or copied to all of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import jax_utils

from flaxoptim_compat import optim
from tests.support import cases
from tests.support.compiled_steps import gradients, legacy_step
from tests.support.devices import device_of
from tests.support.side_by_side import assert_same
from tests.support.training import create

SOME = ["Adam-all", "Adafactor-all", "WeightNorm-over_Momentum", "MultiOptimizer-two"]
W, B = jnp.linspace(-1.0, 2.0, 24).reshape(4, 6), jnp.linspace(0.5, 1.0, 6)


def test_device_put_moves_all_leaves() -> None:
    device = jax.devices()[2]
    optimizer = jax.device_put(create(cases.case("Adam-all"), optim), device)
    after = legacy_step(optimizer, jax.device_put(gradients(optimizer.target, 0), device))
    assert {device_of(leaf) for leaf in jax.tree.leaves((optimizer, after))} == {device}


@pytest.mark.parametrize("name", ["Adam-all", "MultiOptimizer-two"])
def test_replicated_training_equals_the_genuine(genuine: Any, name: str) -> None:
    def step(optimizer: Any, scale: Any) -> Any:
        grads = jax.tree.map(lambda leaf: scale * leaf, gradients_of_target)
        return optimizer.apply_gradient(jax.lax.pmean(grads, "batch"))

    case = cases.case(name)
    gradients_of_target = gradients(case.parameters(), 0)
    results = []
    for namespace in (optim, genuine):
        optimizer = jax_utils.replicate(create(case, namespace), jax.devices()[:4])
        assert optimizer.state.step.shape == (4,)
        train = jax.pmap(step, axis_name="batch")
        for _ in range(2):
            optimizer = train(optimizer, jnp.arange(4.0))
        results.append(jax_utils.unreplicate(optimizer))
        assert results[-1].state.step.shape == ()
    assert_same(*results, ulps=4.0)


@pytest.mark.parametrize("name", ["Adam", "Momentum", "LAMB", "MultiOptimizer"])
def test_leaves_on_different_devices_stay_where_they_are(genuine: Any, name: str) -> None:
    params = {
        "w": jax.device_put(W, jax.devices()[1]),
        "b": jax.device_put(B, jax.devices()[2]),
        "c": jax.device_put(B + 1.0, jax.devices()[1]),
    }
    results = []
    for space in (optim, genuine):
        if name == "MultiOptimizer":
            some = space.ModelParamTraversal(lambda path, value: path != "/c")
            definition = space.MultiOptimizer((some, space.Adam(0.1)))
        else:
            definition = cases.case(f"{name}-all").build(space)
        optimizer = definition.create(params)
        for _ in range(2):
            optimizer = optimizer.apply_gradient(params)
        results.append(optimizer)
    mine = results[0]
    assert jax.tree.map(device_of, mine.target) == jax.tree.map(device_of, params)
    for moment in jax.tree.leaves(mine.state.param_states["w"]):
        assert device_of(moment) == jax.devices()[1]
    assert_same(*results, ulps=2.0)

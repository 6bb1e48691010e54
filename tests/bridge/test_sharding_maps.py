"""Steps inside shard_map and pmap on eight devices."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
import pytest
from flax import jax_utils
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import sharding
from tests.support.meshes import shard_map
from tests.support.sharded_cases import (
    DEFINITIONS,
    ELEMENTWISE,
    LAYOUTS,
    ULPS_OF_TRAIN_STATE,
    apply,
    gradients,
    mesh,
    parameters,
)
from tests.support.side_by_side import assert_same

STEPS = 2
NAMES = ("kernel", "square")
# A mean over the devices is compiled into one loop with the update, which rounds in other places.
WITH_MEAN = 4.0
COPIED = [name for name in DEFINITIONS if name not in ("focus", "own_state")]


def some(tree: Any) -> Any:
    return {name: tree[name] for name in NAMES}


@functools.cache
def on_one_device(name: str) -> Any:
    optimizer, step = DEFINITIONS[name]().create(some(parameters())), jax.jit(apply)
    for number in range(STEPS):
        optimizer = step(optimizer, some(gradients(number)))
    return optimizer


def of_each_device(step: int) -> Any:
    """Eight gradients, whose mean is the gradient itself to the last bit."""
    grads = some(gradients(step))
    return jax.tree.map(lambda grad: np.stack([8 * grad, *[0 * grad] * 7]), grads)


@pytest.mark.parametrize("name", COPIED)
def test_shard_map_with_a_copy_on_each_device(name: str) -> None:
    def step(tree: Any, grads: Any) -> Any:
        mine = jax.tree.map(lambda grad: grad[0], grads)
        return apply(tree, jax.lax.pmean(mine, "data"))

    tree = DEFINITIONS[name]().create(some(parameters()))
    mapped = jax.jit(shard_map(step, mesh=mesh(8), in_specs=(P(), P("data")), out_specs=P()))
    for number in range(STEPS):
        tree = jax.block_until_ready(mapped(tree, of_each_device(number)))
    assert_same(tree, on_one_device(name), ulps=WITH_MEAN)


@pytest.mark.parametrize(
    ("name", "kind"), [*((name, "Optimizer") for name in COPIED), ("Adam", "TrainState")]
)
def test_pmap(name: str, kind: str) -> None:
    def step(tree: Any, grads: Any) -> Any:
        return apply(tree, jax.lax.pmean(grads, "batch"))

    mapped = jax.pmap(step, axis_name="batch")
    definition = DEFINITIONS[name]()
    tree = definition.create(some(parameters()))
    tree = jax_utils.replicate(tree if kind == "Optimizer" else tree.to_train_state())
    for number in range(STEPS):
        tree = jax.block_until_ready(mapped(tree, of_each_device(number)))
    tree = jax_utils.unreplicate(tree)
    if kind == "TrainState":
        tree = optim.Optimizer.from_train_state(tree, definition)
    assert_same(tree, on_one_device(name), ulps=WITH_MEAN)


def on_shards(name: str, kind: str = "Optimizer") -> Any:
    """The optimizer after steps that see, on each device, a shard of it only."""
    where, of_params, _ = LAYOUTS["fsdp"]()
    definition = DEFINITIONS[name]()
    tree, of_params = definition.create(some(parameters())), some(of_params)
    if kind == "TrainState":
        tree = tree.to_train_state()
    of_tree = sharding.specs(tree, of_params, definition=definition)
    mapped = jax.jit(shard_map(apply, mesh=where, in_specs=(of_tree, of_params), out_specs=of_tree))
    for number in range(STEPS):
        tree = jax.block_until_ready(mapped(tree, some(gradients(number))))
    if kind == "TrainState":
        tree = optim.Optimizer.from_train_state(tree, definition)
    return tree


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_shard_map_with_a_shard_on_each_device(name: str) -> None:
    assert_same(on_shards(name), on_one_device(name))


@pytest.mark.parametrize("name", ["Adam", "Sketch"])
def test_shard_map_with_a_shard_of_a_train_state_on_each_device(name: str) -> None:
    ulps = ULPS_OF_TRAIN_STATE[name]
    assert_same(on_shards(name, "TrainState"), on_one_device(name), ulps=ulps)


def test_on_a_shard_lamb_sees_the_norm_of_the_shard() -> None:
    mine, whole = (each.target["kernel"] for each in (on_shards("LAMB"), on_one_device("LAMB")))
    assert np.max(np.abs(mine - whole)) > 1e-3

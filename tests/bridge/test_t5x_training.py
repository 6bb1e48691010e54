"""Training in T5X's state gives what the optimizer in it gives."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from flax import serialization
from flax.linen.partitioning import logical_to_mesh_axes
from jax.sharding import NamedSharding

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import t5x
from tests.data import goldens
from tests.support import cases
from tests.support import t5x_models as models
from tests.support.meshes import mesh_of
from tests.support.side_by_side import assert_same

DEFINITIONS = {
    "Adam": lambda: optim.Adam(0.1, weight_decay=0.01),
    "Adafactor": lambda: optim.Adafactor(0.1, min_dim_size_to_factor=8, beta1=0.9),
    "MultiOptimizer": lambda: optim.MultiOptimizer(
        (optim.ModelParamTraversal(lambda path, _: "dense" in path), optim.Momentum(0.1)),
        (
            optim.ModelParamTraversal(lambda path, _: "stack" in path),
            optim.WeightNorm(optim.Adam(0.1)),
        ),
    ),
}
STEPS = 3


def step(state: Any, grads: Any) -> Any:
    return state.apply_gradient(grads, learning_rate=0.05)


def train(state: Any, compiled: Any) -> Any:
    for number in range(STEPS):
        # Steps under way on several devices wait for one another in XLA's one pool of threads.
        state = jax.block_until_ready(compiled(state, models.gradients(number)))
    return state


def create(name: str, **mutables: Any) -> Any:
    definition = t5x.with_logical_axes(DEFINITIONS[name]())
    return t5x.FlaxOptimTrainState.create(definition, models.variables(**mutables))


@pytest.mark.parametrize("name", DEFINITIONS)
def test_on_a_mesh_of_eight_devices_with_the_axes_that_the_state_gives(name: str) -> None:
    mesh = mesh_of((2, 4), ("data", "model"))
    state = create(name)
    shardings = jax.tree.map(
        lambda names: NamedSharding(mesh, logical_to_mesh_axes(names, models.RULES)),
        state.as_logical_axes(),
    )
    # The step and the axes have no sharding of their own: None is left to jit.
    in_mesh = jax.jit(
        step, in_shardings=(shardings, None), out_shardings=shardings, donate_argnums=0
    )
    after = train(jax.device_put(create(name), shardings), in_mesh)
    placed = jax.tree.map(
        lambda leaf, sharding: leaf.sharding.is_equivalent_to(sharding, leaf.ndim),
        (after.params, after.param_states),
        (shardings.params, shardings.param_states),
    )
    assert all(jax.tree.leaves(placed)), placed
    kernel = after.params["dense"]["kernel"]
    assert {shard.data.shape for shard in kernel.addressable_shards} == {(8, 4)}

    bare = jax.jit(
        step, in_shardings=(shardings._optimizer, None), out_shardings=shardings._optimizer
    )
    assert_same(after._optimizer, train(state._optimizer, bare))
    # Sums over a sharded axis are added up in another order.
    alone = train(state, jax.jit(step))
    assert_same(after._optimizer, alone._optimizer, ulps=4.0)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_state_of_shapes_is_restored(name: str) -> None:
    """T5X restores into the shapes of a state, to hold its arrays only once."""
    state = create(name, cache=models.params())
    shapes = jax.eval_shape(lambda: state)
    restored = shapes.restore_state(state.state_dict())
    assert_same(restored, state)
    assert jax.tree.structure(restored._optimizer) == jax.tree.structure(state._optimizer)
    moved = jax.jit(lambda state: state.replace_step(state.step + 3))(restored)
    assert moved.step == 3
    assert_same(moved.param_states, state.param_states)


class Unread:
    """As T5X's LazyArray: what a checkpoint holds, before it is read."""

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype, self.get = array.shape, array.dtype, lambda: array


@pytest.mark.parametrize("name", DEFINITIONS)
def test_arrays_may_be_read_after_restoring(name: str) -> None:
    state = create(name)
    restored = state.restore_state(jax.tree.map(Unread, state.state_dict()))
    assert_same(jax.tree.map(lambda unread: unread.get(), restored), state)


LEGACY = [
    (release, name)
    for release, name in goldens.checkpoints()
    if name.startswith(("Adam", "Adafactor", "WeightNorm", "MultiOptimizer"))
]


@pytest.mark.parametrize(("release", "name"), LEGACY)
def test_legacy_state_dicts_are_restored(release: str, name: str) -> None:
    saved = serialization.msgpack_restore(goldens.checkpoint(release, name, 10))
    case = cases.case(name)
    definition = t5x.with_logical_axes(case.build(optim))
    state = t5x.FlaxOptimTrainState.create(definition, {"params": case.parameters()})
    restored = state.restore_state({**saved, "flax_mutables": {"cache": {"k": models.params()}}})
    assert_same(
        restored._optimizer, case.build(optim).create(case.parameters()).restore_state(saved)
    )
    assert restored.step == 10
    assert_same(restored.flax_mutables, {"cache": {"k": models.params()}})
    assert restored.replace_step(restored.step).state_dict().keys() == restored.state_dict().keys()

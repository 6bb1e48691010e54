"""Training in T5X's state gives what the optimizer in it gives."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from flax import core, serialization

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import t5x
from tests import cases, goldens
from tests import t5x_models as models
from tests.processes import ROOT, output_of
from tests.side_by_side import assert_same
from tests.t5x_mesh import DEFINITIONS

STEPS = 3


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("freeze", [core.freeze, dict], ids=["frozen", "dict"])
def test_bits_of_the_bare_optimizer(name: str, freeze: Any) -> None:
    @jax.jit
    def step(state: Any, grads: Any) -> Any:
        return state.apply_gradient(grads, learning_rate=0.05)

    definition = t5x.with_logical_axes(DEFINITIONS[name]())
    state = t5x.FlaxOptimTrainState.create(definition, freeze(models.variables()))
    bare = DEFINITIONS[name]().create(freeze(models.params()))
    for number in range(STEPS):
        grads = freeze(models.gradients(number))
        state, bare = step(state, grads), step(bare, grads)
    assert state.step == STEPS
    assert_same(state._optimizer, bare)
    assert type(state.params) is type(bare.target)


def test_on_a_mesh_of_eight_devices_with_the_axes_that_the_state_gives() -> None:
    env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    assert output_of(["-m", "tests.t5x_mesh"], ROOT, env).split() == list(DEFINITIONS)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_state_of_shapes_is_restored(name: str) -> None:
    """T5X restores into the shapes of a state, to hold its arrays only once."""
    definition = t5x.with_logical_axes(DEFINITIONS[name]())
    state = t5x.FlaxOptimTrainState.create(definition, models.variables(cache=models.params()))
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
    definition = t5x.with_logical_axes(DEFINITIONS[name]())
    state = t5x.FlaxOptimTrainState.create(definition, models.variables())
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

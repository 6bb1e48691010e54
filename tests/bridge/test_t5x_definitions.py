"""Definitions written for T5X do in its training state what they do on the genuine flax.optim."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import core, serialization
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import t5x
from tests.support import t5x_models as models
from tests.support.side_by_side import assert_same
from tests.support.t5x_definitions import AXES, FACTORIES, by_path

definitions = pytest.mark.parametrize("name", FACTORIES)


def create(name: str, freeze: Any = core.freeze, base: Any = optim) -> Any:
    return t5x.FlaxOptimTrainState.create(FACTORIES[name](base), freeze(models.variables()))


@definitions
@pytest.mark.parametrize("freeze", [core.freeze, dict], ids=["frozen", "dict"])
def test_training_equals_the_genuine(genuine: Any, name: str, freeze: Any) -> None:
    step = jax.jit(lambda state, grads: state.apply_gradient(grads, learning_rate=0.05))
    states = [create(name, freeze, base) for base in (optim, genuine)]
    for number in range(3):
        grads = freeze(models.gradients(number))
        states = [step(state, grads) for state in states]
    mine, theirs = (state._optimizer for state in states)
    # XLA fuses Adam in another order; the others run the same code.
    assert_same(mine, theirs, ulps=4.0 if name == "logical_adam" else 0.0)
    assert jax.tree.structure(mine.target) == jax.tree.structure(theirs.target)


@definitions
def test_state_dicts_equal_the_genuine(genuine: Any, name: str) -> None:
    mine, theirs = (create(name, base=base).state_dict() for base in (optim, genuine))
    assert_same(mine, theirs)
    assert jax.tree.structure(mine) == jax.tree.structure(theirs)


@definitions
def test_a_trained_state_is_restored(name: str) -> None:
    trained = create(name).apply_gradient(core.freeze(models.gradients(0)), 0.05)
    saved = serialization.msgpack_serialize(trained.state_dict())
    restored = create(name).restore_state(serialization.msgpack_restore(saved))
    assert_same(restored._optimizer, trained._optimizer)


def test_the_factors_of_a_parameter_follow_its_axis_names() -> None:
    state = create("factored")
    factor_map = state._optimizer.optimizer_def.hyper_params.factor_map
    assert {path: [factor.name for factor in rule] for path, rule in factor_map.items()} == {
        "dense/bias": ["COLUMN"],
        "dense/kernel": ["ROW", "COLUMN"],
        "embedding": ["COLUMN", "ROW"],
        "stack": ["BATCH", "ROW", "COLUMN"],
    }
    stack = state.param_states["stack"]
    assert (stack.v_row.shape, stack.v_col.shape, stack.v.shape) == ((2, 8), (2, 16), (1,))


@definitions
def test_logical_axes_are_those_that_the_definition_derives(name: str) -> None:
    state = create(name)
    axes = state.as_logical_axes()
    found = {
        path: tuple(vars(each).values())
        for path, each in by_path(axes.param_states).items()
        if each is not None
    }
    assert found == AXES[name]
    assert axes.step is None and axes.params == core.freeze(models.specs())
    assert axes._optimizer.optimizer_def is state._optimizer.optimizer_def


@definitions
def test_logical_axes_of_shapes_alone(name: str) -> None:
    definition, variables = FACTORIES[name](optim), core.freeze(models.variables())
    state = t5x.FlaxOptimTrainState.create(definition, variables)
    shapes = jax.eval_shape(lambda: state)
    assert shapes.as_logical_axes() == state.as_logical_axes()


def test_axes_of_a_mesh_by_way_of_the_state_dict() -> None:
    """As T5X's partitioner does it, with a definition of T5X's and with one of these here."""
    mutables = {"cache": {"k": np.ones(4)}, "cache_axes": {"k_axes": models.AxisMetadata(("mlp",))}}
    variables = core.freeze(models.variables(**mutables))
    adafactor = t5x.with_logical_axes(optim.Adafactor(0.1, min_dim_size_to_factor=8))
    for definition in (FACTORIES["logical_adam"](optim), adafactor):
        state = t5x.FlaxOptimTrainState.create(definition, variables)
        axes = models.mesh_axes(state.as_logical_axes())
        assert axes.step is None
        assert axes.params["embedding"] == P("model", None)
        assert axes.flax_mutables == core.freeze({"cache": {"k": P("model")}})
    kernel = axes.param_states["dense"]["kernel"]
    assert (kernel.v_row, kernel.v_col, kernel.v) == (P(None), P("model"), P(None))
    inference = t5x.InferenceState.create(variables).as_logical_axes()
    assert models.mesh_axes(inference).params["dense"]["bias"] == P("model")


@definitions
def test_the_way_out(name: str) -> None:
    state = create(name).apply_gradient(core.freeze(models.gradients(0)), 0.05)
    optimizer, grads = state._optimizer, core.freeze(models.gradients(1))
    train_state = optimizer.to_train_state(learning_rate=0.05).apply_gradients(grads=grads)
    back = optim.Optimizer.from_train_state(train_state, optimizer.optimizer_def)
    # A definition's own code becomes an update, the difference of two parameters.
    assert_same(back, state.apply_gradient(grads, 0.05)._optimizer, ulps=4.0)


def test_a_training_loop_of_t5x_may_shape_its_state_before_it_makes_it() -> None:
    """It calls create in a trace, with a definition that it goes on using outside."""
    definition = FACTORIES["factored"](optim)
    variables = core.freeze(models.variables())
    shapes = jax.eval_shape(
        lambda: t5x.FlaxOptimTrainState.create(definition, jax.tree.map(jnp.asarray, variables))
    )
    state = t5x.FlaxOptimTrainState.create(definition, variables)
    assert jax.tree.structure(shapes) == jax.tree.structure(state)
    assert_same(
        jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes.param_states),
        state.param_states,
    )

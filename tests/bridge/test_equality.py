"""A TrainState knows the definition that it comes from, and what else is equal to its own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from flax.training.train_state import TrainState

from flaxoptim_compat import optim
from tests.support.side_by_side import assert_same

PARAMS = {"w": jnp.asarray([1.0, -2.0, 3.0]), "b": jnp.ones((2,))}
GRADS = {"w": jnp.asarray([0.1, 0.2, -0.3]), "b": jnp.full((2,), 0.5)}
MATRICES = optim.ModelParamTraversal(lambda path, _: "w" in path)
DEFINITIONS = {
    "one": lambda: optim.Adam(0.1, weight_decay=0.01),
    "around another": lambda: optim.WeightNorm(optim.Adam(0.1)),
    "in parts": lambda: optim.MultiOptimizer((MATRICES, optim.Momentum(0.1))),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_there_and_back_in_every_step_is_one_trace(name: str) -> None:
    traces = 0

    @jax.jit
    def step(state: TrainState) -> TrainState:
        nonlocal traces
        traces += 1
        return optim.Optimizer.from_train_state(state).to_train_state().apply_gradients(grads=GRADS)

    optimizer: Any = DEFINITIONS[name]().create(PARAMS)
    state = optimizer.to_train_state()
    for _ in range(4):
        state = step(state)
    assert traces == 1
    state, _ = jax.lax.scan(lambda carry, _: (step(carry), None), state, length=2)
    for _ in range(6):
        optimizer = optimizer.apply_gradient(GRADS)
    # Another program, whose operations XLA puts together in another order: 1 unit was measured,
    # and 6 with jax 0.4.30.
    assert_same(optim.Optimizer.from_train_state(state), optimizer, ulps=8.0)


def test_equal_definitions_make_equal_transformations() -> None:
    first = DEFINITIONS["one"]().create(PARAMS).to_train_state().tx
    second = DEFINITIONS["one"]().create(GRADS).to_train_state().tx
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(
    "other",
    [
        optim.Adam(0.1).create(PARAMS).to_train_state(),
        optim.Adam(0.1, weight_decay=0.01).create({"w": PARAMS["w"]}).to_train_state(),
        optim.Adam(0.1, weight_decay=0.01).create(PARAMS).to_train_state(weight_decay=0.02),
        TrainState.create(apply_fn=lambda: None, params=PARAMS, tx=optax.adamw(0.1)),
    ],
    ids=["another definition", "other parameters", "an override", "plain optax"],
)
def test_others_are_not_equal(other: TrainState) -> None:
    assert DEFINITIONS["one"]().create(PARAMS).to_train_state().tx != other.tx


def test_without_a_definition_it_has_to_be_given() -> None:
    tx = optax.chain(optax.scale_by_adam(), optax.scale_by_learning_rate(0.1))
    state = TrainState.create(apply_fn=lambda: None, params=PARAMS, tx=tx)
    with pytest.raises(TypeError, match="Give the definition that does the same"):
        optim.Optimizer.from_train_state(state)
    assert optim.Optimizer.from_train_state(state, optim.Adam(0.1)).state.step == 0

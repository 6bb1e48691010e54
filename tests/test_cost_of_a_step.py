"""Inside jit a step costs what the same step costs in optax by hand, and copies nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from flax.training.train_state import TrainState

from flaxoptim_compat import optim

PARAMS = {"w": jnp.ones((64, 32)), "b": jnp.ones((256,))}
GRADS = jax.tree.map(jnp.cos, PARAMS)


def by_hand() -> Iterator[Any]:
    adam = optax.inject_hyperparams(optax.adamw)(0.1, b1=0.8, eps=1e-6, weight_decay=0.01)
    momentum = optax.inject_hyperparams(optax.sgd, static_args=("momentum",))(0.1, momentum=0.9)
    yield pytest.param(optim.Adam(0.1, beta1=0.8, eps=1e-6, weight_decay=0.01), adam, id="Adam")
    yield pytest.param(optim.Momentum(0.1), momentum, id="Momentum")


def compiled(step: Callable[..., Any], state: Any) -> Any:
    return jax.jit(step, donate_argnums=0).lower(state, GRADS, 0.1).compile()


@pytest.mark.parametrize(("definition", "tx"), list(by_hand()))
def test_a_step_costs_what_it_costs_in_optax_by_hand(definition: Any, tx: Any) -> None:
    def legacy(optimizer: Any, grads: Any, rate: Any) -> Any:
        return optimizer.apply_gradient(grads, learning_rate=rate)

    def modern(state: Any, grads: Any, rate: Any) -> Any:
        state.opt_state.hyperparams["learning_rate"] = rate
        return state.apply_gradients(grads=grads)

    state = TrainState.create(apply_fn=None, params=PARAMS, tx=tx)
    optimizer = definition.create(PARAMS)
    mine, theirs = compiled(legacy, optimizer), compiled(modern, state)
    costs = [each.cost_analysis() for each in (mine, theirs)]
    assert 0 < costs[0]["flops"] <= costs[1]["flops"]
    assert 0 < costs[0]["bytes accessed"] <= costs[1]["bytes accessed"]
    memory = mine.memory_analysis()
    assert memory.alias_size_in_bytes == sum(leaf.nbytes for leaf in jax.tree.leaves(optimizer))
    # Not one parameter is copied; what remains are the scalars.
    smallest = min(leaf.nbytes for leaf in jax.tree.leaves(PARAMS))
    assert memory.temp_size_in_bytes < smallest

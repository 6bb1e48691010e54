"""Models as targets of optimizers, and checkpoints of both."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import serialization
from flax.training.train_state import TrainState

from flaxoptim_compat import FlaxOptimDeprecationWarning, nn, optim
from tests.support.nn_modules import modules
from tests.support.side_by_side import assert_same

KEY = jax.random.PRNGKey(3)
X = jnp.linspace(-1.0, 2.0, 12).reshape(2, 6)


def trained(served: Any, optimizers: Any, name: str) -> Any:
    blocks = modules(served).Blocks
    model = served.Model(blocks, blocks.init(KEY, X)[1])
    optimizer = getattr(optimizers, name)(learning_rate=0.1).create(model)
    for _ in range(2):
        grads = jax.grad(lambda model: jnp.sum(model(X) ** 2))(optimizer.target)
        optimizer = optimizer.apply_gradient(grads)
    return optimizer


@pytest.mark.parametrize("name", ["Adam", "Momentum", "LAMB"])
def test_checkpoints_of_the_genuine_modules_and_optimizers_restore(
    name: str, genuine: Any, genuine_nn: Any
) -> None:
    theirs = trained(genuine_nn, genuine, name)
    ours = trained(nn, optim, name)
    assert_same(serialization.to_state_dict(ours), serialization.to_state_dict(theirs), ulps=4.0)
    fresh = jax.tree.map(jnp.zeros_like, ours)
    restored = serialization.from_bytes(fresh, serialization.to_bytes(theirs))
    assert isinstance(restored.target, nn.Model)
    assert_same(
        serialization.to_state_dict(restored), jax.device_get(serialization.to_state_dict(theirs))
    )
    assert restored.target(X).shape == theirs.target(X).shape
    # And back: who goes on with the old stack reads what was written here.
    back = serialization.from_bytes(theirs, serialization.to_bytes(ours))
    assert_same(back.target.params, jax.device_get(ours.target.params))


def test_parameters_of_a_model_are_chosen_by_their_paths() -> None:
    dense = nn.Dense.partial(features=3)
    model = nn.Model(dense, dense.init(KEY, X)[1])
    kernels = optim.ModelParamTraversal(lambda path, _: path.endswith("kernel"))
    optimizer = optim.MultiOptimizer((kernels, optim.GradientDescent(0.5))).create(model)
    moved = optimizer.apply_gradient(jax.tree.map(jnp.ones_like, model)).target
    assert isinstance(moved, nn.Model)
    assert_same(moved.params["bias"], model.params["bias"])
    assert_same(moved.params["kernel"], model.params["kernel"] - 0.5)


def test_a_model_is_what_a_train_state_has_for_parameters() -> None:
    optimizer = trained(nn, optim, "Adam")
    state = optimizer.to_train_state()
    assert isinstance(state, TrainState) and isinstance(state.params, nn.Model)
    grads = jax.tree.map(jnp.ones_like, optimizer.target)
    assert_same(
        state.apply_gradients(grads=grads).params, optimizer.apply_gradient(grads).target, ulps=2.0
    )
    assert "params" not in state.params and "LayerNorm_0" in state.params.params["block_0"]


def test_an_optimizer_of_a_model_warns_as_any_other() -> None:
    model = nn.Model(nn.Dense, nn.Dense.init(KEY, X, features=2)[1])
    with pytest.warns(FlaxOptimDeprecationWarning, match=r"optax\.adam"):
        optim.Adam(0.1).create(model)

"""Optimizers that users wrote on flax.optim's base classes: their own code runs, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat import compiled_steps, optim
from tests.support.legacy_subclasses import FACTORIES, HyperParams
from tests.support.side_by_side import assert_same

PARAMS = {"a": {"w": jnp.linspace(-1.0, 2.0, 6).reshape(2, 3)}, "b": jnp.linspace(0.5, 1.0, 3)}
GRADS = [
    jax.tree.map(lambda leaf, number=number: jnp.cos(2.1 * number + 3 * leaf), PARAMS)
    for number in range(3)
]
OWN_CODE = ["own_state", "clipped_bfloat16_momentum", "noisy"]


def train(definition: Any, step: Callable[..., Any]) -> Any:
    optimizer = definition.create(PARAMS)
    for grads in GRADS:
        optimizer = step(optimizer, grads)
    return optimizer


def apply(optimizer: Any, grads: Any) -> Any:
    return optimizer.apply_gradient(grads)


@pytest.mark.parametrize("name", FACTORIES)
def test_a_subclass_is_the_genuine_to_the_bit(genuine: Any, name: str) -> None:
    mine, theirs = (train(FACTORIES[name](space), jax.jit(apply)) for space in (optim, genuine))
    # The wrapper's own product is fused with the first one of our Momentum.
    assert_same(mine, theirs, 1.0 if name == "wrapper" else 0.0)
    with compiled_steps(False):
        mine, theirs = (train(FACTORIES[name](space), apply) for space in (optim, genuine))
    assert_same(mine, theirs)
    # Outside jit inherited steps are compiled, and then fused. Where no code of the library's has
    # a part, not even the order of kernels differs.
    assert_same(train(FACTORIES[name](optim), apply), theirs, 0.0 if name in OWN_CODE else 4.0)


def test_the_arguments_of_the_users_methods(genuine: Any) -> None:
    seen: dict[str, list[Any]] = {}

    def make(base: Any) -> Any:
        class Recorder(base.OptimizerDef):  # type: ignore[misc]
            def init_param_state(self, param: Any) -> Any:
                return {"shape": jnp.zeros(param.shape)}

            def apply_param_gradient(
                self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
            ) -> Any:
                kinds = [isinstance(each, jax.Array) for each in (step, param, grad)]
                calls.append((int(step), hyper_params, param.shape, sorted(state), kinds))
                return param, state

        return Recorder(HyperParams(0.5))

    for space in (optim, genuine):
        calls: list[Any] = []
        seen[space.__name__] = calls
        train(make(space), lambda each, grads: each.apply_gradient(grads, decay=0.25))
    first, second = seen.values()
    assert first == second
    assert [call[0] for call in first] == [0, 0, 1, 1, 2, 2]
    assert {call[1] for call in first} == {HyperParams(0.5, 0.25)}


@pytest.mark.parametrize("name", FACTORIES)
def test_a_subclass_as_a_train_state(name: str) -> None:
    optimizer = FACTORIES[name](optim).create(PARAMS)
    state = optimizer.to_train_state()
    for grads in GRADS:
        optimizer = jax.jit(apply)(optimizer, grads)
        state = jax.jit(lambda each, grads: each.apply_gradients(grads=grads))(state, grads)
    assert int(state.step) == 3
    # Optax adds a difference to the parameter, which may move the last bits of own code.
    assert_same(state.params, optimizer.target, ulps=2.0)
    again = optim.Optimizer.from_train_state(state, optimizer.optimizer_def)
    assert_same(again.state, optimizer.state, ulps=2.0)


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "outside jit"])
@pytest.mark.parametrize("name", ["own_state", "clipped_gradients", "projected", "noisy"])
def test_weight_norm_around_a_subclass(genuine: Any, name: str, jit: bool) -> None:
    step = jax.jit(apply) if jit else apply
    mine, theirs = (
        train(space.WeightNorm(FACTORIES[name](space)), step) for space in (optim, genuine)
    )
    assert_same(mine, theirs, ulps=4.0)


def test_an_unfinished_subclass_says_what_it_lacks() -> None:
    class Unfinished(optim.OptimizerDef):
        def init_param_state(self, param: Any) -> Any:
            return ()

    optimizer = Unfinished(HyperParams(0.1)).create(PARAMS)
    with pytest.raises(NotImplementedError, match="Unfinished defines neither"):
        optimizer.apply_gradient(GRADS[0])
    with pytest.raises(NotImplementedError, match="init_param_state"):
        optim.OptimizerDef(HyperParams(0.1)).create(PARAMS)

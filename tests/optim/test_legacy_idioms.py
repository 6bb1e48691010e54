"""What programs of the flax.optim days do with an optimizer, beside training with it."""

from __future__ import annotations

import dataclasses
from typing import Any

import flax
import jax
import jax.numpy as jnp
import pytest
from flax import jax_utils, serialization, struct, traverse_util
from flax.core import freeze, unfreeze
from flax.training import common_utils

from flaxoptim_compat import optim
from flaxoptim_compat.versions.of_jax import slashed
from tests.support import cases
from tests.support.side_by_side import assert_same, bits, ulps

PARAMS = {
    "encoder": {"kernel": jnp.linspace(-1.0, 2.0, 6).reshape(2, 3), "bias": jnp.zeros(3)},
    "decoder": {"kernel": jnp.linspace(0.5, 1.0, 3)},
}
GRADS = jax.tree.map(lambda leaf: jnp.cos(3 * leaf), PARAMS)


def loss_fn(params: Any) -> Any:
    return sum(jnp.sum(jnp.square(leaf - 1.0)) for leaf in jax.tree.leaves(params))


def run(step: Any, genuine: Any, name: str = "Adam", **kwargs: Any) -> list[Any]:
    return [step(getattr(space, name)(**kwargs).create(PARAMS)) for space in (optim, genuine)]


@pytest.mark.parametrize("name", [case.name for case in cases.CASES if case.name.endswith("-all")])
def test_flattened_leaves_pair_with_the_names_of_the_state_dict(name: str) -> None:
    case = cases.case(name)
    optimizer = case.build(optim).create(jax.tree.map(jnp.asarray, case.parameters()))
    names = traverse_util.flatten_dict(serialization.to_state_dict(optimizer), sep="/")
    arrays = {name: leaf for name, leaf in names.items() if leaf is not None}
    flat = {
        slashed(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(optimizer)[0]
    }
    assert sorted(arrays) == sorted(flat)
    assert all(bits(arrays[name]) == bits(flat[name]) for name in arrays)
    assert {"target/dense/bias", "state/step"} <= arrays.keys()


@pytest.mark.parametrize("wrap", [unfreeze, freeze])
def test_flatten_dict_of_param_states_stops_at_the_state_of_a_parameter(wrap: Any) -> None:
    states = optim.Adam(0.1).create(wrap(PARAMS)).state.param_states
    flat = traverse_util.flatten_dict(unfreeze(states))
    assert set(flat) == {("encoder", "kernel"), ("encoder", "bias"), ("decoder", "kernel")}
    for state in flat.values():
        assert type(state) is optim.adam._AdamParamState
        assert [field.name for field in dataclasses.fields(state)] == ["grad_ema", "grad_sq_ema"]


def test_param_states_flatten_up_to_the_target() -> None:
    optimizer = optim.Momentum(0.1).create(PARAMS)
    leaves, treedef = jax.tree.flatten(optimizer.target)
    states = treedef.flatten_up_to(optimizer.state.param_states)
    assert [state.momentum.shape for state in states] == [leaf.shape for leaf in leaves]


def test_zeroing_the_state_of_a_subtree(genuine: Any) -> None:
    def zeroed(optimizer: Any) -> Any:
        optimizer = optimizer.apply_gradient(GRADS)
        flat = traverse_util.flatten_dict(unfreeze(optimizer.state.param_states))
        for path, state in flat.items():
            if path[0] == "encoder":
                flat[path] = state.replace(
                    grad_ema=jnp.zeros_like(state.grad_ema),
                    grad_sq_ema=jnp.zeros_like(state.grad_sq_ema),
                )
        states = traverse_util.unflatten_dict(flat)
        if type(optimizer) is optim.Optimizer:
            states = freeze(states)  # the genuine one would not take it beside a dict
        state = optimizer.state.replace(param_states=states)
        return optimizer.replace(state=state).apply_gradient(GRADS)

    assert_same(*run(jax.jit(zeroed), genuine, learning_rate=0.1), ulps("Adam"))


def test_editing_states_in_place(genuine: Any) -> None:
    def edited(optimizer: Any) -> Any:
        states = dict(optimizer.state.param_states)
        states["decoder"] = jax.tree.map(lambda leaf: leaf + 1.0, states["decoder"])
        state = type(optimizer.state)(optimizer.state.step + 1, states)
        return optimizer.replace(state=state).apply_gradient(GRADS)

    assert_same(*run(jax.jit(edited), genuine, "Momentum", learning_rate=0.1))


def test_weight_decay_by_replacing_the_target(genuine: Any) -> None:
    def step(optimizer: Any) -> Any:
        optimizer = optimizer.apply_gradient(GRADS)
        return optimizer.replace(target=jax.tree.map(lambda leaf: 0.9 * leaf, optimizer.target))

    assert_same(*run(jax.jit(step), genuine, "Momentum", learning_rate=0.1))


@pytest.mark.parametrize(
    "config",
    [
        {"name": "Adam", "learning_rate": 0.1, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3},
        {"name": "Momentum", "learning_rate": 0.1, "beta": 0.8, "weight_decay": 0.1},
        {"name": "LARS", "learning_rate": 0.1, "weight_decay": 0.1},
        {"name": "RMSProp", "learning_rate": 0.1, "beta2": 0.8, "centered": True},
    ],
)
def test_an_optimizer_by_its_name_in_a_configuration(genuine: Any, config: Any) -> None:
    config = dict(config)
    name = config.pop("name")
    step = jax.jit(lambda each: each.apply_gradient(GRADS).apply_gradient(GRADS))
    assert_same(*run(step, genuine, name, **config), ulps(name))


def test_the_learning_rate_of_the_constructor_counts() -> None:
    optimizer = optim.GradientDescent(0.25).create(PARAMS)
    expected = jax.tree.map(lambda param, grad: param - 0.25 * grad, PARAMS, GRADS)
    assert_same(optimizer.apply_gradient(GRADS).target, expected, ulps=1.0)
    expected = jax.tree.map(lambda param, grad: param - 0.5 * grad, PARAMS, GRADS)
    assert_same(optimizer.apply_gradient(GRADS, learning_rate=0.5).target, expected, ulps=1.0)


def test_scan_with_a_key_in_the_carry(genuine: Any) -> None:
    def train(optimizer: Any) -> Any:
        def update(carry: Any, _: Any) -> Any:
            optimizer, key = carry
            key, used = jax.random.split(key)
            noise = lambda leaf: leaf + jax.random.normal(used, leaf.shape)
            grads = jax.tree.map(noise, jax.grad(loss_fn)(optimizer.target))
            return (optimizer.apply_gradient(grads), key), loss_fn(optimizer.target)

        return jax.lax.scan(update, (optimizer, jax.random.PRNGKey(0)), (), length=3)

    assert_same(*run(train, genuine, learning_rate=0.1), ulps=4.0)


@pytest.mark.parametrize("aux", [False, True])
@pytest.mark.parametrize("method", ["compute_gradient", "compute_gradients", "optimize"])
def test_gradients_computed_by_the_optimizer(genuine: Any, method: str, aux: bool) -> None:
    loss = (lambda params: (loss_fn(params), {"params": params})) if aux else loss_fn

    def call(optimizer: Any) -> Any:
        return getattr(optimizer, method)(loss)

    mine, theirs = run(jax.jit(call), genuine, "Momentum", learning_rate=0.1)
    assert len(mine) == (3 if aux else 2)
    assert_same(mine, theirs)


@pytest.mark.parametrize("name", ["Momentum", "Adam"])
def test_replicate_averages_the_gradients(genuine: Any, name: str) -> None:
    scale = jnp.arange(8.0)

    def train(optimizer: Any) -> Any:
        def step(optimizer: Any, scale: Any) -> Any:
            return optimizer.apply_gradient(
                jax.tree.map(lambda leaf: scale * leaf, GRADS), learning_rate=0.2
            )

        replicated = optimizer.replicate()
        assert replicated.state.step.shape == (8,)
        replicated = jax.pmap(step, axis_name="batch")(replicated, scale)
        restored = optimizer.replicate().restore_state(replicated.state_dict())
        assert_same(restored, replicated)
        return replicated.state_dict(), replicated.unreplicate()

    # The mean over four devices is one division here, and one by psum(1) there.
    assert_same(*run(train, genuine, name, learning_rate=0.1), ulps=2.0)
    with pytest.raises(ValueError, match="not replicated"):
        optim.Adam(0.1).create(PARAMS).unreplicate()


@pytest.mark.parametrize("finite", [True, False])
def test_dynamic_scale_selects_the_old_optimizer_where_not_finite(finite: bool) -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    factor = 1.0 if finite else jnp.inf

    @jax.jit
    def step(optimizer: Any, scale: Any) -> Any:
        grad_fn = scale.value_and_grad(lambda params: factor * loss_fn(params))
        scale, is_finite, _, grads = grad_fn(optimizer.target)
        new = optimizer.apply_gradient(grads)
        select = lambda new, old: jnp.where(is_finite, new, old)
        return jax.tree.map(select, new, optimizer), scale

    after, scale = step(optimizer, optim.DynamicScale(scale=1024.0))
    if finite:
        plain = optimizer.apply_gradient(jax.grad(loss_fn)(PARAMS))
        assert_same(after, plain, ulps=8.0)  # gradients that were scaled and scaled back
    else:
        assert_same(after, optimizer)
    assert float(scale.scale) == (1024.0 if finite else 512.0)


@struct.dataclass
class TrainState:
    optimizer: optim.Optimizer
    model_state: Any


def test_a_replicated_state_with_donation_and_its_step() -> None:
    # Before jax 0.5 the first of the replicas is the array itself, which a step then deletes.
    params = jax.tree.map(jnp.copy, PARAMS)
    state = jax_utils.replicate(TrainState(optim.Momentum(0.1).create(params), {}))

    def train_step(state: Any, scale: Any) -> Any:
        grads = jax.lax.pmean(jax.tree.map(lambda leaf: scale * leaf, GRADS), "batch")
        optimizer = state.optimizer.apply_gradient(grads, learning_rate=0.5)
        return state.replace(optimizer=optimizer)

    step = jax.pmap(train_step, axis_name="batch", donate_argnums=(0,))
    for _ in range(2):
        state = step(state, common_utils.shard(jnp.ones(8))[:, 0])
    assert int(state.optimizer.state.step[0]) == 2
    single = jax_utils.unreplicate(state).optimizer
    expected = optim.Momentum(0.5).create(PARAMS).apply_gradient(GRADS).apply_gradient(GRADS)
    assert_same(single.target, expected.target, ulps=1.0)


def test_hyper_parameters_are_a_struct_with_replace(genuine: Any) -> None:
    for space in (optim, genuine):
        hyper_params = space.Adam().hyper_params
        assert hyper_params.learning_rate is None
        assert hyper_params.replace(learning_rate=0.5).learning_rate == 0.5
        with pytest.raises(TypeError, match="momentum"):
            space.Adam(0.1).create(PARAMS).apply_gradient(GRADS, momentum=0.9)


def test_the_step_is_an_int32_array_that_starts_at_0(genuine: Any) -> None:
    for space in (optim, genuine):
        step = space.Adam(0.1).create(PARAMS).state.step
        assert (step.dtype, step.shape, int(step)) == (jnp.int32, (), 0)
        assert isinstance(step, jax.Array)


def test_bytes_and_back() -> None:
    optimizer = optim.Adam(0.1).create(PARAMS).apply_gradient(GRADS)
    data = flax.serialization.to_bytes(optimizer)
    assert_same(flax.serialization.from_bytes(optim.Adam(0.1).create(PARAMS), data), optimizer)

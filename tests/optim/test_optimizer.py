"""An optimizer is a frozen dataclass, a pytree with the genuine leaves, and plain data."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import struct, traverse_util
from flax.core import freeze, unfreeze

from flaxoptim_compat import optim
from tests.support import cases
from tests.support.options import each_case
from tests.support.side_by_side import assert_same, bits, ulps

PARAMS = {"a": {"w": jnp.linspace(-1.0, 2.0, 6).reshape(2, 3)}, "b": jnp.linspace(0.5, 1.0, 3)}
GRADS = jax.tree.map(jnp.cos, PARAMS)
# One of each kind: with two moments, a wrapper, and several optimizers with frozen leaves.
SOME = ["Adam-all", "WeightNorm-over_Momentum", "MultiOptimizer-two"]


def make(name: str, namespace: Any = optim) -> Any:
    case = cases.case(name)
    return case.build(namespace).create(jax.tree.map(jnp.asarray, case.parameters()))


def gradients(optimizer: Any, step: int = 0) -> Any:
    return jax.tree.map(jnp.asarray, cases.gradients(step, optimizer.target))


@jax.jit
def apply(optimizer: Any, grads: Any) -> Any:
    return optimizer.apply_gradient(grads)


@pytest.mark.parametrize("case", each_case())
def test_leaves_and_their_names_are_the_genuine_ones(genuine: Any, case: cases.Case) -> None:
    mine, theirs = make(case.name), make(case.name, genuine)
    assert_same(mine, theirs)
    grads = gradients(mine)
    after = [
        jax.eval_shape(lambda each: each.apply_gradient(grads), each) for each in (mine, theirs)
    ]
    described = [
        [(jax.tree_util.keystr(path), leaf.shape, leaf.dtype) for path, leaf in flat]
        for flat in (jax.tree_util.tree_flatten_with_path(each)[0] for each in after)
    ]
    assert described[0] == described[1]


def test_an_optimizer_is_a_frozen_dataclass(genuine: Any) -> None:
    optimizer = make("Adam-all")
    for namespace in (optim, genuine):
        assert dataclasses.is_dataclass(namespace.Optimizer)
        names = [field.name for field in dataclasses.fields(namespace.Optimizer)]
        assert names == ["optimizer_def", "state", "target"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        optimizer.target = {}
    with pytest.raises(dataclasses.FrozenInstanceError):
        optimizer.state.step = 1
    replaced = optimizer.replace(target={})
    assert replaced.target == {}
    assert replaced.state is optimizer.state
    assert replaced.optimizer_def is optimizer.optimizer_def


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("finite", [True, False])
def test_select_between_two_optimizers(name: str, finite: bool) -> None:
    old = make(name)
    new = apply(old, gradients(old))
    where = lambda x, y: jnp.where(finite, x, y)
    assert_same(jax.tree.map(where, new, old), new if finite else old)
    chosen = jax.jit(lambda new, old: jax.tree.map(where, new, old))(new, old)
    assert_same(chosen, new if finite else old)
    chosen = jax.lax.cond(finite, lambda: new, lambda: old)
    assert_same(chosen, new if finite else old)
    assert chosen.optimizer_def == old.optimizer_def


@pytest.mark.parametrize("name", SOME)
def test_scan_carries_an_optimizer(genuine: Any, name: str) -> None:
    def train(optimizer: Any) -> Any:
        def step(optimizer: Any, scale: Any) -> tuple[Any, None]:
            grads = jax.tree.map(lambda leaf: scale * leaf, gradients_of_target)
            return optimizer.apply_gradient(grads), None

        gradients_of_target = gradients(optimizer)
        return jax.lax.scan(step, optimizer, jnp.asarray([1.0, -0.5, 2.0]))[0]

    assert_same(train(make(name)), train(make(name, genuine)), ulps=4.0)


class WithExtras(optim.Optimizer):
    extra: Any
    note: str = struct.field(pytree_node=False, default="")


def test_a_subclass_of_optimizer_is_a_pytree_of_its_own() -> None:
    definition = optim.Adam(0.1)
    optimizer = WithExtras(definition, definition.init_state(PARAMS), PARAMS, jnp.ones(2), "kept")
    after = apply(optimizer, GRADS)
    assert type(after) is WithExtras
    assert after.note == "kept"
    assert bits(after.extra) == bits(optimizer.extra)
    assert_same(after.target, apply(definition.create(PARAMS), GRADS).target)


@pytest.mark.parametrize(
    "copier", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("name", [name for name in SOME if not name.startswith("Multi")])
def test_copies_and_pickles(name: str, copier: Any) -> None:
    optimizer = make(name)
    definition = copier(optimizer.optimizer_def)
    assert definition == optimizer.optimizer_def
    assert definition is not optimizer.optimizer_def
    again = copier(apply(optimizer, gradients(optimizer)))
    assert jax.tree.structure(again) == jax.tree.structure(optimizer)
    expected = apply(apply(optimizer, gradients(optimizer)), gradients(optimizer, 1))
    assert_same(apply(again, gradients(optimizer, 1)), expected)


@pytest.mark.parametrize(
    "name", ["Adam-all", "AdaBelief-all", "LAMB-all", "Adafactor-clipping_threshold"]
)
@pytest.mark.parametrize("count", [3, 1000])
def test_the_step_in_the_state_moves_the_bias_correction(
    genuine: Any, name: str, count: int
) -> None:
    results = []
    for namespace in (optim, genuine):
        optimizer = make(name, namespace)
        optimizer = optimizer.replace(state=optimizer.state.replace(step=count))
        results.append(apply(optimizer, gradients(optimizer)))
    assert_same(*results, ulps(name))
    assert int(results[0].state.step) == count + 1
    start = make(name)
    unmoved = apply(start, gradients(start)).target["dense"]["kernel"]
    assert bits(unmoved) != bits(results[0].target["dense"]["kernel"])


def test_a_list_of_states_as_up_to_flax_0_3_2() -> None:
    optimizer = make("MultiOptimizer-two")
    after = apply(optimizer, gradients(optimizer))
    assert int(after.state[0].step) == int(after.state[1].step) == 1
    with pytest.raises(TypeError, match="not iterable"):
        iter(after.state)


def loss_fn(params: Any) -> Any:
    return sum(jnp.sum(jnp.square(leaf - 1.0)) for leaf in jax.tree.leaves(params))


def run(step: Any, genuine: Any, name: str = "Adam", **kwargs: Any) -> list[Any]:
    return [step(getattr(space, name)(**kwargs).create(PARAMS)) for space in (optim, genuine)]


def test_zeroing_the_state_of_a_subtree(genuine: Any) -> None:
    def zeroed(optimizer: Any) -> Any:
        optimizer = optimizer.apply_gradient(GRADS)
        flat = traverse_util.flatten_dict(unfreeze(optimizer.state.param_states))
        for path, state in flat.items():
            if path[0] == "a":
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
        states["b"] = jax.tree.map(lambda leaf: leaf + 1.0, states["b"])
        state = type(optimizer.state)(optimizer.state.step + 1, states)
        return optimizer.replace(state=state).apply_gradient(GRADS)

    assert_same(*run(jax.jit(edited), genuine, "Momentum", learning_rate=0.1))


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

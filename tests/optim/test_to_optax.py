"""A definition as an optax transformation: alone, inside optax's wrappers, under jax's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.training.train_state import TrainState
from jax.sharding import PartitionSpec

from flaxoptim_compat import from_optax, optim, to_optax
from tests.support.compiled_steps import KINDS, NAMES, gradients, legacy_step, make
from tests.support.legacy_subclasses import FACTORIES
from tests.support.meshes import mesh_of, shard_map
from tests.support.options import each
from tests.support.side_by_side import assert_same


def definition_and_params(name: str) -> tuple[Any, Any]:
    optimizer = make(name)
    return optimizer.optimizer_def, optimizer.target


def stepper(tx: Any) -> Any:
    @jax.jit
    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    return step


@pytest.mark.parametrize("name", NAMES)
def test_its_first_state_is_that_of_a_converted_optimizer(name: str) -> None:
    definition, params = definition_and_params(name)
    state = to_optax(definition, params).init(params)
    expected = definition.create(params).to_train_state().opt_state
    assert jax.tree.structure(state) == jax.tree.structure(expected)
    assert_same(state, expected)


@pytest.mark.parametrize("name", [*KINDS, "LAMB-all"])
def test_it_does_what_the_definition_does(name: str) -> None:
    definition, params = definition_and_params(name)
    tx = to_optax(definition, jax.eval_shape(lambda: params))
    # Inside the legacy jit the learning rate is a constant, not an argument: XLA may fold it.
    # Before jax 0.5 it also takes the sums of LARS in another order.
    otherwise = "Adafactor" if jax.__version_info__ >= (0, 5) else ("Adafactor", "LARS")
    ulps = 2.0 if name.startswith(otherwise) else 0.0
    step, state, optimizer = stepper(tx), tx.init(params), definition.create(params)
    for number in range(5):
        grads = gradients(params, number)
        params, state = step(params, state, grads)
        optimizer = legacy_step(optimizer, grads)
        assert_same(params, optimizer.target, ulps)


def trained(tx: Any, params: Any, steps: int = 4) -> Any:
    step, state = stepper(tx), tx.init(params)
    structure = jax.tree.structure(state)
    for number in range(steps):
        params, state = step(params, state, gradients(params, number))
        assert jax.tree.structure(state) == structure
    return params


@pytest.mark.parametrize("name", each(KINDS, ["Adafactor-all_factored", "MultiOptimizer-two"]))
def test_inside_the_wrappers_of_optax(name: str) -> None:
    definition, params = definition_and_params(name)
    tx = to_optax(definition, params)
    expected = trained(tx, params)
    # What may be thrown away is not fused with the parameters' sum.
    assert_same(trained(optax.apply_if_finite(tx, 3), params), expected, ulps=2.0)
    everything = jax.tree.map(lambda leaf: True, params)
    assert_same(trained(optax.masked(tx, everything), params), expected)
    # Twice the same gradient is their mean, and one step.
    several = optax.MultiSteps(tx, every_k_schedule=2)
    step, state = stepper(several), several.init(params)
    current = params
    for number in (0, 0, 1, 1, 2, 2, 3, 3):
        current, state = step(current, state, gradients(params, number))
    # XLA fuses the addition of the mean with what follows.
    assert_same(current, expected, ulps=4.0)


def test_masked_by_the_user() -> None:
    params = {"a": {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3)}, "b": jnp.ones(4)}
    mask = {"a": {"kernel": True, "bias": True}, "b": False}
    kernels = optim.ModelParamTraversal(lambda path, value: path.endswith("kernel"))
    for definition in (optim.LAMB(0.1), optim.MultiOptimizer((kernels, optim.Adagrad(0.1)))):
        part = {"a": params["a"], "b": optax.MaskedNode()}
        tx = optax.masked(to_optax(definition, part), mask)
        after, _ = stepper(tx)(params, tx.init(params), params)
        expected = definition.create(params).apply_gradient(params).target
        assert_same(after["a"], expected["a"])
        np.testing.assert_array_equal(
            after["b"], 2.0
        )  # masked leaves out, and so adds, the gradient


def test_hyper_params_injected_by_the_user() -> None:
    definition, params = definition_and_params("Momentum-all")

    @optax.inject_hyperparams
    def make(learning_rate: Any, weight_decay: Any) -> Any:
        nesterov = definition.hyper_params.nesterov
        chosen = optim.Momentum(learning_rate, 0.9, weight_decay, nesterov)
        return to_optax(chosen, params)

    tx = make(learning_rate=0.1, weight_decay=0.01)
    step, state, optimizer = stepper(tx), tx.init(params), definition.create(params)
    for number, (rate, decay) in enumerate([(0.1, 0.01), (0.3, 0.0), (0.02, 0.5)]):
        grads = gradients(params, number)
        state.hyperparams.update(learning_rate=jnp.float32(rate), weight_decay=jnp.float32(decay))
        params, state = step(params, state, grads)
        overrides = {"learning_rate": jnp.float32(rate), "weight_decay": jnp.float32(decay)}
        optimizer = optimizer.apply_gradient(grads, beta=0.9, **overrides)
        assert_same(params, optimizer.target, ulps=2.0)


def test_a_focus_has_its_rate_where_it_is_looked_for() -> None:
    kernels = optim.ModelParamTraversal(lambda path, value: path.endswith("kernel"))
    optimizer = optim.Adam(0.1).create({"kernel": jnp.ones(3), "bias": jnp.ones(3)}, focus=kernels)
    state = optimizer.to_train_state()
    state.opt_state.hyperparams["learning_rate"] = 0.5
    after = state.apply_gradients(grads=optimizer.target)
    expected = optimizer.apply_gradient(optimizer.target, learning_rate=0.5)
    assert_same(after.params, expected.target)
    assert_same(optim.Optimizer.from_train_state(after, optimizer.optimizer_def), expected)


@pytest.mark.parametrize("name", ["Adafactor-all_factored", "MultiOptimizer-two"])
def test_in_scan(name: str) -> None:
    definition, params = definition_and_params(name)
    tx = to_optax(definition, params)
    grads = [gradients(params, number) for number in range(4)]
    stacked = jax.tree.map(lambda *each: jnp.stack(each), *grads)

    def step(carry: Any, grads: Any) -> Any:
        params, state = carry
        updates, state = tx.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), None

    scanned, _ = jax.jit(lambda carry: jax.lax.scan(step, carry, stacked))(
        (params, tx.init(params))
    )
    # In a loop XLA fuses otherwise.
    assert_same(scanned[0], trained(tx, params), ulps=4.0)


@pytest.mark.parametrize("name", ["Adam-all", "Adafactor-all_factored", "MultiOptimizer-two"])
def test_in_pmap_and_shard_map(name: str) -> None:
    definition, params = definition_and_params(name)
    tx = to_optax(definition, params)
    grads = jax.tree.map(
        lambda leaf: jnp.stack([device * leaf for device in range(4)]), gradients(params, 0)
    )

    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = tx.update(jax.lax.pmean(grads, "batch"), state, params)
        return optax.apply_updates(params, updates), state

    mean = jax.tree.map(lambda leaf: leaf.mean(0), grads)
    expected, _ = stepper(tx)(params, tx.init(params), mean)
    mapped = jax.pmap(step, axis_name="batch", in_axes=(None, None, 0))
    replicas, _ = mapped(params, tx.init(params), grads)
    assert_same(jax.tree.map(lambda leaf: leaf[3], replicas), expected, ulps=4.0)

    mesh = mesh_of((4,), ("batch",))
    one, split = PartitionSpec(), PartitionSpec("batch")

    def of_shard(params: Any, state: Any, grads: Any) -> Any:
        return step(params, state, jax.tree.map(lambda leaf: leaf[0], grads))

    sharded = shard_map(of_shard, mesh=mesh, in_specs=(one, one, split), out_specs=one)
    after, _ = jax.jit(sharded)(params, tx.init(params), grads)
    assert_same(after, expected, ulps=4.0)


def test_what_it_refuses() -> None:
    params = {"w": jnp.ones(3)}
    with pytest.raises(AssertionError, match="no learning rate provided"):
        to_optax(optim.Adam(), params)
    assert set(to_optax(optim.Adam(), params, learning_rate=0.1).init(params).hyperparams) == {
        "learning_rate"
    }
    of_an_optimizer = r"definition of an optimizer is `optimizer\.optimizer_def`"
    with pytest.raises(TypeError, match=of_an_optimizer):
        to_optax(optim.Adam(0.1).create(params), params)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="has no hyper-parameter 'decay'"):
        to_optax(optim.Adam(0.1), params, decay=0.1)
    for definition in (
        FACTORIES["own_state"](optim),
        optim.WeightNorm(optim.Adam(0.1)),
        optim.LAMB(0.1),
        optim.LARS(0.1),
        optim.Adafactor(0.1),
    ):
        tx = to_optax(definition, params)
        with pytest.raises(ValueError, match=r"needs the parameters|current value of parameters"):
            tx.update(params, tx.init(params))


def train_state(definition: Any, params: Any) -> Any:
    return definition.create(params).to_train_state()


def test_moments_of_another_definition_are_not_dropped() -> None:
    params = {"kernel": jnp.ones(3), "bias": jnp.ones(3)}
    kernels, biases = (
        optim.ModelParamTraversal(lambda path, value, name=name: path.endswith(name))
        for name in ("kernel", "bias")
    )
    adam, momentum = optim.Adam(0.1), optim.Momentum(0.1)
    focus = optim.MultiOptimizer((kernels, adam))
    both = optim.MultiOptimizer((kernels, adam), (biases, momentum))
    back = optim.Optimizer.from_train_state
    with pytest.raises(ValueError, match="no ScaleByAdamState"):
        back(train_state(momentum, params), adam)
    with pytest.raises(ValueError, match="no TraceState"):
        back(
            train_state(both, params), optim.MultiOptimizer((kernels, momentum), (biases, momentum))
        )
    for other in (focus, both):
        with pytest.raises(ValueError, match=r"no state of `optax\.partition` for part_0"):
            back(train_state(adam, params), other)
        with pytest.raises(ValueError, match="no moments for every parameter"):
            back(train_state(other, params), adam)
    with pytest.raises(ValueError, match=r"no state of `optax\.partition` for part_0"):
        back(train_state(focus, params), both)
    with pytest.raises(ValueError, match="its `opt_state` has another structure"):
        back(train_state(adam, params), from_optax(optax.sgd, learning_rate=0.1))


def test_a_transformation_inside_others_is_found_again() -> None:
    params = {"w": jnp.ones(3)}
    definition = optim.Adam(0.1)
    tx = optax.chain(optax.clip(1.0), to_optax(definition, params))
    state = TrainState.create(apply_fn=None, params=params, tx=tx).apply_gradients(grads=params)
    expected = definition.create(params).apply_gradient(params)
    assert_same(optim.Optimizer.from_train_state(state, definition), expected, ulps=1.0)

"""MultiOptimizers and focus with definitions of ``from_optax``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from flax import jax_utils, serialization
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import from_optax, optim, to_optax
from tests.optim.test_extra_args import INPUTS, OUTPUTS, plateau
from tests.support.side_by_side import assert_same

TX = plateau()
POLYAK = optax.polyak_sgd()
LBFGS = optax.lbfgs()
PARAMS = {
    "first": {"w": jnp.ones((3, 4)), "b": jnp.zeros(4)},
    "second": {"w": jnp.eye(4), "b": jnp.ones(4)},
    "frozen": jnp.full(4, 0.1),
}
KERNELS = optim.ModelParamTraversal(lambda path, value: path.endswith("w"))
BIASES = optim.ModelParamTraversal(lambda path, value: path.endswith("b"))
SECOND = optim.ModelParamTraversal(lambda path, value: path.startswith("/second"))
NOTHING = optim.ModelParamTraversal(lambda path, value: False)
LABELS = {
    "first": {"w": "kernels", "b": "biases"},
    "second": {"w": "kernels", "b": "biases"},
    "frozen": "frozen",
}


def loss_of(params: Any) -> jax.Array:
    first, second = params["first"], params["second"]
    hidden = jnp.tanh(INPUTS @ first["w"] + first["b"]) + params["frozen"]
    return ((hidden @ second["w"] + second["b"] - OUTPUTS) ** 2).mean()


def pairs() -> tuple[Any, ...]:
    return ((KERNELS, from_optax(TX)), (BIASES, optim.Momentum(0.1)))


def in_optax(kernels: Any, biases: Any) -> Any:
    return optax.partition(
        {"kernels": kernels, "biases": biases, "frozen": optax.set_to_zero()}, LABELS
    )


CASES: dict[str, tuple[Any, Any]] = {
    "one of flax": (
        lambda: optim.MultiOptimizer(*pairs()),
        in_optax(plateau(), optax.sgd(0.1, 0.9)),
    ),
    "none of flax": (
        lambda: optim.MultiOptimizer((KERNELS, from_optax(TX)), (BIASES, from_optax(POLYAK))),
        in_optax(plateau(), optax.polyak_sgd()),
    ),
    "nested": (
        lambda: optim.MultiOptimizer(
            (
                optim.ModelParamTraversal(lambda path, value: "frozen" not in path),
                optim.MultiOptimizer(*pairs()),
            )
        ),
        in_optax(plateau(), optax.sgd(0.1, 0.9)),
    ),
    "nested, of flax": (
        lambda: optim.MultiOptimizer(
            (KERNELS, from_optax(TX)),
            (BIASES, optim.MultiOptimizer((BIASES, optim.Momentum(0.1)))),
        ),
        in_optax(plateau(), optax.sgd(0.1, 0.9)),
    ),
    "one without parameters": (
        lambda: optim.MultiOptimizer((NOTHING, from_optax(LBFGS)), *pairs()),
        in_optax(plateau(), optax.sgd(0.1, 0.9)),
    ),
}


def ours(optimizer: Any) -> Any:
    value, grads = jax.value_and_grad(loss_of)(optimizer.target)
    return optimizer.apply_gradient(grads, value=value)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compiled", [True, False], ids=["jit", "outside"])
def test_the_steps_are_those_of_partition(name: str, compiled: bool) -> None:
    make, tx = CASES[name]

    def theirs(params: Any, state: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of)(params)
        updates, state = tx.update(grads, state, params, value=value)
        return optax.apply_updates(params, updates), state

    step, expected = (jax.jit(ours), jax.jit(theirs)) if compiled else (ours, theirs)
    optimizer, params, state = make().create(PARAMS), PARAMS, tx.init(PARAMS)
    for _ in range(6):
        optimizer = step(optimizer)
        params, state = expected(params, state)
    assert_same(optimizer.target, params)
    assert int(optimizer.state.step) == 6
    scale = optax.tree_utils.tree_get(optimizer.state.param_states, "scale")
    assert float(scale) == float(optax.tree_utils.tree_get(state, "scale"))


@pytest.mark.parametrize("name", CASES)
def test_out_and_back_and_checkpoints(name: str) -> None:
    definition = CASES[name][0]()
    step = jax.jit(ours)
    optimizer = step(step(definition.create(PARAMS)))

    @jax.jit
    def modern(state: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=grads, value=value)

    after = step(optimizer)
    state = modern(optimizer.to_train_state())
    for again in (
        optim.Optimizer.from_train_state(state),
        optim.Optimizer.from_train_state(state, definition),
    ):
        assert_same(again, after)
        assert jax.tree.structure(again) == jax.tree.structure(after)
    restored = serialization.from_bytes(
        CASES[name][0]().create(PARAMS), serialization.to_bytes(optimizer)
    )
    assert jax.tree.structure(restored) == jax.tree.structure(optimizer)
    assert_same(step(restored), after)
    tx = to_optax(definition, PARAMS)
    fresh = definition.create(PARAMS).to_train_state().opt_state
    assert_same(tx.init(PARAMS), fresh)


def test_a_search_sees_its_own_parameters() -> None:
    tx = LBFGS
    definition = optim.MultiOptimizer((SECOND, from_optax(tx)))
    optimizer = definition.create(PARAMS)

    @jax.jit
    def step(optimizer: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of)(optimizer.target)
        return optimizer.apply_gradient(grads, value=value, grad=grads, value_fn=loss_of)

    @jax.jit
    def by_hand(params: Any, state: Any) -> Any:
        def loss_of_second(second: Any) -> Any:
            return loss_of({**params, "second": second})

        value, grads = jax.value_and_grad(loss_of)(params)
        updates, state = tx.update(
            grads["second"],
            state,
            params["second"],
            value=value,
            grad=grads["second"],
            value_fn=loss_of_second,
        )
        return {**params, "second": optax.apply_updates(params["second"], updates)}, state

    params, state = PARAMS, tx.init(PARAMS["second"])
    for _ in range(5):
        optimizer, (params, state) = step(optimizer), by_hand(params, state)
    assert_same(optimizer.target, params)
    assert loss_of(params) < loss_of(PARAMS)

    @jax.jit
    def modern(train_state: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of)(train_state.params)
        return train_state.apply_gradients(grads=grads, value=value, grad=grads, value_fn=loss_of)

    assert_same(modern(optimizer.to_train_state()).params, step(optimizer).target)


def test_an_override_is_for_whoever_knows_it() -> None:
    lion = from_optax(optax.lion, learning_rate=0.1)
    definition = optim.MultiOptimizer((KERNELS, lion), (BIASES, optim.Momentum(0.2)))
    optimizer = definition.create(PARAMS)
    grads = jax.grad(loss_of)(PARAMS)

    def expected(rates: tuple[float, float], beta: float = 0.9, b1: float = 0.9) -> Any:
        tx = in_optax(optax.lion(rates[0], b1=b1), optax.sgd(rates[1], beta))
        return optax.apply_updates(PARAMS, tx.update(grads, tx.init(PARAMS), PARAMS)[0])

    for given, result in (
        ({}, expected((0.1, 0.2))),
        ({"learning_rate": 0.5}, expected((0.5, 0.5))),
        ({"b1": 0.5}, expected((0.1, 0.2), b1=0.5)),
        ({"beta": 0.5}, expected((0.1, 0.2), beta=0.5)),
    ):
        assert_same(optimizer.apply_gradient(grads, **given).target, result, ulps=1.0)
        state = optimizer.to_train_state(**given).apply_gradients(grads=grads)
        assert_same(state.params, result, ulps=1.0)
    kernels, biases = definition.update_hyper_params()
    each = [kernels.replace(learning_rate=0.3), biases.replace(learning_rate=0.4)]
    after = optimizer.apply_gradient(grads, hyper_params=each)
    assert_same(after.target, expected((0.3, 0.4)), ulps=1.0)


def test_what_nobody_takes_is_refused() -> None:
    definition = optim.MultiOptimizer(*pairs())
    optimizer = definition.create(PARAMS)
    state = optimizer.to_train_state()
    for name in ("loss", "beta1", "learning_rat"):
        with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
            optimizer.apply_gradient(PARAMS, value=1.0, **{name: 0.5})
        with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
            optimizer.to_train_state(**{name: 0.5})
        with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
            to_optax(definition, PARAMS, **{name: 0.5})
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            state.apply_gradients(grads=PARAMS, value=1.0, **{name: 0.5})
    # Of flax alone each has to know each, as it was.
    of_flax = optim.MultiOptimizer((KERNELS, optim.Adam(0.1)), (BIASES, optim.Momentum(0.1)))
    with pytest.raises(TypeError, match="Momentum has no hyper-parameter 'beta1'"):
        of_flax.create(PARAMS).apply_gradient(PARAMS, beta1=0.5)


def test_an_argument_for_one_part() -> None:
    first, second = from_optax(optax.polyak_sgd()), from_optax(optax.polyak_sgd())
    definition = optim.MultiOptimizer((KERNELS, first), (BIASES, second))
    values = [first.update_hyper_params(value=0.1), second.update_hyper_params(value=0.2)]
    grads = jax.grad(loss_of)(PARAMS)
    optimizer = definition.create(PARAMS)
    after = optimizer.apply_gradient(grads, hyper_params=values)
    low = optimizer.apply_gradient(grads, value=0.1)
    high = optimizer.apply_gradient(grads, value=0.2)
    assert_same(after.target["first"]["w"], low.target["first"]["w"])
    assert_same(after.target["first"]["b"], high.target["first"]["b"])


def test_a_focus() -> None:
    optimizer = from_optax(optax.lion, learning_rate=0.1, weight_decay=0.0).create(
        PARAMS, focus=KERNELS
    )
    grads = {"first": PARAMS["first"], "second": PARAMS["second"], "frozen": None}
    with pytest.raises(ValueError, match="gradients do not have the structure of the target"):
        optimizer.apply_gradient({"first": None})
    after = optimizer.apply_gradient(grads, learning_rate=0.5)
    assert after.target["first"]["b"] is PARAMS["first"]["b"]
    assert_same(after.target["first"]["w"], PARAMS["first"]["w"] - 0.5)
    again = after.apply_gradient(grads)
    assert_same(again.target["first"]["w"], after.target["first"]["w"] - 0.1, ulps=1.0)
    (state,) = after.state.param_states
    with pytest.raises(ValueError, match="must be a tuple of 1 states"):
        after.replace(state=optim.OptimizerState(1, state)).apply_gradient(grads)


def test_compiled_once_and_in_scan_and_pmap() -> None:
    traces = []
    made = None

    @jax.jit
    def step(optimizer: Any, value: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(PARAMS, value=value)

    for _ in range(2):
        # Equal definitions, each of which is made anew, of one and the same transformation.
        optimizer = optim.MultiOptimizer((KERNELS, from_optax(TX))).create(PARAMS)
        for value in (3.0, 2.0, 1.0):
            optimizer = step(optimizer, value)
        made = len(traces) if made is None else made
    assert len(traces) == made
    start = optim.MultiOptimizer(*pairs()).create(PARAMS)
    expected = start
    for _ in range(3):
        expected = jax.jit(ours)(expected)
    scan = jax.jit(lambda each: jax.lax.scan(lambda each, _: (ours(each), None), each, None, 3)[0])
    # What XLA fuses differs in a loop.
    assert_same(scan(start), expected, ulps=8.0)
    replicated = start.replicate(jax.devices()[:2])
    for _ in range(3):
        replicated = jax.pmap(ours, axis_name="batch")(replicated)
    assert_same(replicated.unreplicate(), expected, ulps=8.0)
    assert_same(jax_utils.unreplicate(jax_utils.replicate(start, jax.devices()[:2])), start)


def test_axes_of_its_state() -> None:
    definition = optim.MultiOptimizer(
        (KERNELS, from_optax(optax.adam, learning_rate=0.1)), (BIASES, optim.Momentum(0.1))
    )
    axes = jax.tree.map(lambda leaf: P(*("in", "out")[-leaf.ndim :]), PARAMS)
    state = jax.eval_shape(definition.init_state, PARAMS)
    found = definition.state_axes(PARAMS, state, axes)
    assert jax.tree.structure(found) == jax.tree.structure(state)
    kernels, biases = found.param_states
    assert kernels.inner_state[0].mu == (P("in", "out"), P("in", "out"))
    assert [each.momentum for each in biases] == [P("out"), P("out")]


def test_a_part_with_code_of_its_own() -> None:
    class Own(optim.OptimizerDef):
        def __init__(self) -> None:
            super().__init__(optim.GradientDescent(0.5).hyper_params)

        def init_param_state(self, param: Any) -> Any:
            return jnp.zeros_like(param)

        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            return param - hyper_params.learning_rate * grad, state + 1

    definition = optim.MultiOptimizer((KERNELS, from_optax(TX)), (BIASES, Own()))
    after = definition.create(PARAMS).apply_gradient(PARAMS, value=1.0, learning_rate=0.25)
    assert_same(after.target["second"]["b"], PARAMS["second"]["b"] * 0.75)
    state = after.to_train_state(learning_rate=0.25).apply_gradients(grads=PARAMS, value=1.0)
    assert_same(state.params["second"]["b"], PARAMS["second"]["b"] * 0.5)

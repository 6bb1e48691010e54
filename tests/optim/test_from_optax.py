"""The legacy API over any optax transformation."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import serialization
from flax.core import freeze

from flaxoptim_compat import from_optax, optax_source, optim, to_optax
from tests.support import cases
from tests.support.side_by_side import assert_same

PARAMS = jax.tree.map(jnp.asarray, cases.parameters())
# Optax makes float32 arrays of what is settable, and 1 - beta2 loses four digits by that. So what
# is compared is the same transformation in the legacy API and by itself.
SETTABLE = optax.inject_hyperparams(optax.adamw)(learning_rate=0.1, weight_decay=0.01)
RATE_ONLY = optax.inject_hyperparams(
    optax.adamw, static_args=("b1", "b2", "eps", "eps_root", "weight_decay")
)(learning_rate=0.1, weight_decay=0.01)
SOURCES: dict[str, Any] = {
    "function": lambda: from_optax(optax.adamw, learning_rate=0.1, weight_decay=0.01),
    "transformation": lambda: from_optax(optax.adamw(0.1, weight_decay=0.01)),
    "settable": lambda: from_optax(SETTABLE, learning_rate=0.1),
}
REFERENCES = {
    "function": RATE_ONLY,
    "transformation": optax.adamw(0.1, weight_decay=0.01),
    "settable": SETTABLE,
}


def gradients(step: int) -> Any:
    return jax.tree.map(jnp.asarray, cases.gradients(step, PARAMS))


def plain(tx: Any, rates: Any = (None, None, None)) -> Any:
    """What optax itself does with a transformation, and a rate for every step."""

    @jax.jit
    def update(state: Any, params: Any, grads: Any) -> Any:
        updates, state = tx.update(grads, state, params)
        return state, optax.apply_updates(params, updates)

    state, params = tx.init(PARAMS), PARAMS
    for step, rate in enumerate(rates):
        if rate is not None:
            state.hyperparams["learning_rate"] = jnp.asarray(rate, jnp.float32)
        state, params = update(state, params, gradients(step))
    return params


def legacy(definition: Any, rates: Any = (None, None, None)) -> Any:
    optimizer = definition.create(PARAMS)
    step = jax.jit(lambda each, grads, override: each.apply_gradient(grads, **override))
    for number, rate in enumerate(rates):
        override = {} if rate is None else {"learning_rate": rate}
        optimizer = step(optimizer, gradients(number), override)
    return optimizer


@pytest.mark.parametrize("source", SOURCES)
def test_the_steps_are_those_of_optax(source: str) -> None:
    optimizer = legacy(SOURCES[source]())
    assert int(optimizer.state.step) == 3
    assert_same(optimizer.target, plain(REFERENCES[source]))
    assert_same(
        jax.tree.map(jnp.shape, optimizer.state),
        jax.tree.map(jnp.shape, SOURCES[source]().create(PARAMS).state),
    )


@pytest.mark.parametrize("source", ["function", "settable"])
def test_an_override_lasts_one_step(source: str) -> None:
    optimizer = legacy(SOURCES[source](), rates=(0.3, None, 0.02))
    assert_same(optimizer.target, plain(REFERENCES[source], (0.3, 0.1, 0.02)))


def test_every_argument_is_a_hyper_parameter() -> None:
    definition = from_optax(optax.adam, learning_rate=0.1)
    optimizer = definition.create(PARAMS)
    assert definition.hyper_params.b2 == 0.999
    after = optimizer.apply_gradient(gradients(0), b2=0.5, eps=1e-3)
    tx = optax.adam(0.1, b2=0.5, eps=1e-3)
    updates, _ = tx.update(gradients(0), tx.init(PARAMS), PARAMS)
    assert_same(after.target, optax.apply_updates(PARAMS, updates), ulps=2.0)
    assert jax.tree.structure(after) == jax.tree.structure(optimizer)
    with pytest.raises(
        TypeError, match=r"has no hyper-parameter 'beta2'\. It has: learning_rate, b1"
    ):
        optimizer.apply_gradient(gradients(0), beta2=0.5)


def test_a_rate_that_only_the_steps_give() -> None:
    optimizer = legacy(from_optax(optax.lion), rates=(0.1, 0.2, 0.1))
    injected = optax.inject_hyperparams(optax.lion, static_args=("b1", "b2", "weight_decay"))(0.0)
    assert_same(optimizer.target, plain(injected, (0.1, 0.2, 0.1)))
    with pytest.raises(
        AssertionError, match=r"make it with `from_optax\(lion, learning_rate=\.\.\.\)`, or pass"
    ):
        optimizer.apply_gradient(gradients(0))


def test_what_does_the_same_is_compiled_once() -> None:
    traces = []

    @jax.jit
    def step(optimizer: Any, override: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(optimizer.target, **override)

    def made(learning_rate: float) -> Any:
        return optax.sgd(learning_rate)

    rates = [{"learning_rate": rate} for rate in (0.1, 0.2, 0.3)]
    for number, (make, overrides) in enumerate(
        [
            (SOURCES["function"], rates),
            (SOURCES["settable"], rates),
            *((lambda rate=rate: from_optax(optax.adamw(rate)), [{}, {}]) for rate in (0.1, 0.2)),
            *(
                (lambda rate=rate: from_optax(made, learning_rate=rate), [{}])
                for rate in (0.1, 0.2)
            ),
        ],
        start=1,
    ):
        optimizer = make().create(PARAMS)
        for override in overrides:
            optimizer = step(optimizer, override)
            step(make().create(PARAMS), override)
        assert len(traces) == number


def test_half_precision_keeps_its_dtypes() -> None:
    params = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), PARAMS)
    optimizer = from_optax(optax.adam, learning_rate=0.1).create(params)
    after = optimizer.apply_gradient(params, learning_rate=jnp.float32(0.2))
    assert jax.tree.map(jnp.result_type, after) == jax.tree.map(jnp.result_type, optimizer)
    assert after.state.param_states.hyperparams["learning_rate"].dtype == jnp.float32


@pytest.mark.parametrize("source", SOURCES)
def test_out_and_back_and_checkpoints(source: str) -> None:
    definition = SOURCES[source]()
    optimizer = legacy(definition)
    state = optimizer.to_train_state()
    assert_same(optim.Optimizer.from_train_state(state, definition), optimizer)
    after = optimizer.apply_gradient(gradients(3))
    state = state.apply_gradients(grads=gradients(3))
    assert_same(optim.Optimizer.from_train_state(state, definition), after)
    if source != "transformation":
        state = optimizer.to_train_state(learning_rate=0.5)
        assert float(state.opt_state.hyperparams["learning_rate"]) == 0.5
    tx = to_optax(definition, PARAMS)
    assert_same(tx.init(PARAMS), definition.create(PARAMS).to_train_state().opt_state)
    data = serialization.to_bytes(optimizer)
    restored = serialization.from_bytes(SOURCES[source]().create(PARAMS), data)
    assert_same(restored, optimizer)
    assert_same(restored.apply_gradient(gradients(3)), after)


def test_rates_that_differ_between_parts() -> None:
    parts = {
        "0": optax.inject_hyperparams(optax.sgd)(learning_rate=0.1),
        "1": optax.inject_hyperparams(optax.sgd)(learning_rate=0.5),
    }
    params = {"a": jnp.ones(3), "b": jnp.ones(3)}
    optimizer = from_optax(optax.partition(parts, {"a": "0", "b": "1"})).create(params)
    for _ in range(2):
        step = optimizer.apply_gradient(params)
        np.testing.assert_allclose(
            [step.target["a"][0], step.target["b"][0]], [0.9, 0.5], rtol=1e-6
        )
        # One override for all of them, and afterwards each has its own again.
        both = optimizer.apply_gradient(params, learning_rate=0.25)
        np.testing.assert_allclose(jax.tree.leaves(both.target), 0.75, rtol=1e-6)
        optimizer = both.replace(target=params)


def test_a_schedule_inside_stays_what_it_is() -> None:
    schedule = optax.linear_schedule(0.1, 0.0, 10)
    for tx in (optax.sgd(schedule), optax.inject_hyperparams(optax.sgd)(schedule)):
        definition = from_optax(tx)
        assert_same(legacy(definition).target, plain(tx))
        with pytest.raises(TypeError, match="has no hyper-parameter 'learning_rate'"):
            definition.create(PARAMS).apply_gradient(gradients(0), learning_rate=0.1)
    with pytest.raises(ValueError, match="A schedule cannot be overridden for one step"):
        from_optax(optax.sgd, learning_rate=schedule)


def test_targets_of_other_kinds() -> None:
    definition = from_optax(optax.sgd, learning_rate=0.5, momentum=0.9)
    frozen = definition.create(freeze({"w": jnp.ones(3)}))
    assert_same(frozen.apply_gradient({"w": jnp.ones(3)}).target, freeze({"w": jnp.full(3, 0.5)}))
    assert_same(definition.create(jnp.ones(3)).apply_gradient(jnp.ones(3)).target, jnp.full(3, 0.5))
    with pytest.raises(ValueError, match="gradients do not have the structure of the target"):
        frozen.apply_gradient({"v": jnp.ones(3)})


def test_what_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"adam has no hyper-parameter 'beta1'\. It has: learning_rate"
    ):
        from_optax(optax.adam, beta1=0.9)
    with pytest.raises(
        TypeError, match="no hyper-parameter 'learning_rate' in its state, only none"
    ):
        from_optax(optax.adam(0.1), learning_rate=0.1).create(PARAMS)
    with pytest.raises(TypeError, match="join_schedules needs schedules, boundaries"):
        from_optax(optax.join_schedules)
    with pytest.raises(TypeError, match="takes an optax transformation, or a function"):
        from_optax(0.1)  # type: ignore[arg-type]
    masked = optax.masked(optax.sgd(0.1), {"w": True})
    with pytest.raises(TypeError, match="no hyper-parameter 'learning_rate' in its state"):
        from_optax(masked, learning_rate=0.1).create({"w": jnp.ones(3)})
    definition = from_optax(optax.adam, learning_rate=0.1)
    everything = optim.ModelParamTraversal(lambda path, value: True)
    with pytest.raises(
        TypeError, match=r"cannot be in a WeightNorm\. Normalise in optax: `from_optax"
    ):
        optim.WeightNorm(definition)

    class Own(optim.MultiOptimizer):
        pass

    with pytest.raises(TypeError, match=r"cannot be in a Own\. Use MultiOptimizer itself"):
        Own((everything, definition))
    with pytest.raises(ValueError, match="no optax text for this FromOptax"):
        optax_source(definition)


@dataclasses.dataclass(frozen=True)
class Config:
    rate: float
    momentum: float = 0.0


def test_partials_and_functions_of_the_users() -> None:
    def slow(rate: float, slow: bool = False) -> Any:
        return optax.sgd(rate / 2 if slow else rate)

    def of_dataclass(config: Config) -> Any:
        return optax.sgd(config.rate, config.momentum)

    partial = functools.partial(optax.sgd, momentum=0.9)
    for definition, overrides, moved in (
        (from_optax(slow, rate=0.5), {"slow": True}, 0.75),
        (from_optax(of_dataclass, config=Config(0.5)), {"config": Config(0.25)}, 0.75),
        (from_optax(partial, learning_rate=0.5), {}, 0.5),
    ):
        optimizer = definition.create({"w": jnp.ones(3)})
        after = optimizer.apply_gradient({"w": jnp.ones(3)}, **overrides)
        assert_same(after.target, {"w": jnp.full(3, moved)})

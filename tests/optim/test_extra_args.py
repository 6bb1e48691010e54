"""The legacy API over transformations of optax that take more than gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import jax_utils, serialization
from flax.core import freeze

from flaxoptim_compat import from_optax, optim, to_optax, transforms
from tests.support.options import each, exhaustive
from tests.support.side_by_side import assert_same

INPUTS = jax.random.normal(jax.random.key(0), (16, 3))
OUTPUTS = jax.random.normal(jax.random.key(1), (16, 4))
PARAMS = {"w": jnp.ones((3, 4)), "b": jnp.zeros(4)}


def loss_of(params: Any) -> jax.Array:
    return ((jnp.tanh(INPUTS @ params["w"] + params["b"]) - OUTPUTS) ** 2).mean()


def plateau(learning_rate: float = 0.1, factor: float = 0.5) -> Any:
    return optax.chain(
        optax.adam(learning_rate),
        optax.contrib.reduce_on_plateau(factor, patience=1, accumulation_size=2),
    )


LOSS_ONLY: dict[str, Any] = {
    "plateau": plateau(),
    "polyak": optax.polyak_sgd(),
    "momo": optax.contrib.momo(0.1),
    "momo_adam": optax.contrib.momo_adam(0.1),
    "if finite": optax.apply_if_finite(optax.polyak_sgd(), 3),
    "every other": optax.MultiSteps(optax.polyak_sgd(), 2).gradient_transformation(),
    "mechanized": optax.contrib.mechanize(optax.polyak_sgd(), s_init=0.1),
    "weight norm": transforms.weight_norm(optax.polyak_sgd()),
    "injected": optax.inject_hyperparams(optax.polyak_sgd)(0.5),
    "injected plateau": optax.inject_hyperparams(plateau, static_args=("factor",))(),
    "partition": optax.partition({0: plateau(), 1: optax.sgd(0.1)}, {"w": 0, "b": 1}),
}
SEARCHES: dict[str, Any] = {
    "lbfgs": optax.lbfgs(),
    "lbfgs, backtracking": optax.lbfgs(
        0.5, linesearch=optax.scale_by_backtracking_linesearch(5, store_grad=True)
    ),
    "backtracking": optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(5)),
}
CASES = LOSS_ONLY | SEARCHES


def step_of(tx: Any, apply: Any) -> Any:
    """One step with the arguments that this transformation needs."""
    searches = any(tx is each for each in SEARCHES.values())

    def step(params: Any, *rest: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of)(params)
        more = {"grad": grads, "value_fn": loss_of} if searches else {}
        return apply(params, *rest, grads, value=value, **more)

    return step


def by_hand(tx: Any) -> Any:
    def apply(params: Any, state: Any, grads: Any, **extra_args: Any) -> Any:
        updates, state = tx.update(grads, state, params, **extra_args)
        return optax.apply_updates(params, updates), state

    return step_of(tx, apply)


def legacy(tx: Any) -> Any:
    step = step_of(
        tx, lambda _, optimizer, grads, **extra: optimizer.apply_gradient(grads, **extra)
    )
    return lambda optimizer: step(optimizer.target, optimizer)


# Outside jit, what takes a loss goes one way: one that does, and each kind of what wraps one.
OUTSIDE_OFTEN = ("plateau", "every other", "injected", "partition")


# Outside jit a search compiles its loop in each step, in optax too: one step of one will do.
@pytest.mark.parametrize(
    ("name", "outside", "steps"),
    [
        *((name, False, 6) for name in CASES),
        *(
            pytest.param(name, True, 6, marks=() if name in OUTSIDE_OFTEN else exhaustive)
            for name in LOSS_ONLY
        ),
        ("backtracking", True, 1),
    ],
)
def test_the_steps_are_those_of_optax(name: str, outside: bool, steps: int) -> None:
    tx = CASES[name]
    theirs, ours = by_hand(tx), legacy(tx)
    if not outside:
        theirs, ours = jax.jit(theirs), jax.jit(ours)
    params, state = PARAMS, tx.init(PARAMS)
    optimizer = from_optax(tx).create(PARAMS)
    for _ in range(steps):
        params, state = theirs(params, state)
        optimizer = ours(optimizer)
    assert_same(optimizer.target, params)
    assert_same(optimizer.state.param_states, state)
    # Where it was before: nothing moved is nothing tested.
    assert not (optimizer.target["w"] == PARAMS["w"]).all()


@pytest.mark.parametrize("name", each(CASES, [name for name in CASES if name != "lbfgs"]))
def test_out_and_back_and_checkpoints(name: str) -> None:
    tx = CASES[name]
    definition = from_optax(tx)
    ours = jax.jit(legacy(tx))
    optimizer = ours(ours(definition.create(PARAMS)))
    step = step_of(tx, lambda _, state, grads, **extra: state.apply_gradients(grads=grads, **extra))
    state = jax.jit(lambda state: step(state.params, state))(optimizer.to_train_state())
    after = ours(optimizer)
    again = optim.Optimizer.from_train_state(state, definition)
    assert_same(again, after)
    assert jax.tree.structure(again) == jax.tree.structure(after)
    restored = serialization.from_bytes(
        definition.create(PARAMS), serialization.to_bytes(optimizer)
    )
    assert jax.tree.structure(restored) == jax.tree.structure(optimizer)
    assert_same(ours(restored), after)


def test_a_search_uses_the_values_that_its_state_holds() -> None:
    tx = optax.lbfgs()
    optimizer = from_optax(tx).create(PARAMS)
    params, state = PARAMS, tx.init(PARAMS)
    value_and_grad = optax.value_and_grad_from_state(loss_of)

    @jax.jit
    def ours(optimizer: Any) -> Any:
        value, grads = value_and_grad(optimizer.target, state=optimizer.state.param_states)
        return optimizer.apply_gradient(grads, value=value, grad=grads, value_fn=loss_of)

    @jax.jit
    def theirs(params: Any, state: Any) -> Any:
        value, grads = value_and_grad(params, state=state)
        updates, state = tx.update(grads, state, params, value=value, grad=grads, value_fn=loss_of)
        return optax.apply_updates(params, updates), state

    for _ in range(5):
        optimizer, (params, state) = ours(optimizer), theirs(params, state)
    assert_same((optimizer.target, optimizer.state.param_states), (params, state))
    assert loss_of(params) < loss_of(PARAMS)


def test_arguments_of_the_function_that_is_searched() -> None:
    def loss(params: Any, scale: Any) -> Any:
        return scale * loss_of(params)

    tx = optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(5))
    value, grads = jax.value_and_grad(loss)(PARAMS, 2.0)
    extra_args = {"value": value, "grad": grads, "value_fn": loss, "scale": 2.0}
    updates, _ = tx.update(grads, tx.init(PARAMS), PARAMS, **extra_args)
    optimizer = from_optax(tx).create(PARAMS).apply_gradient(grads, **extra_args)
    assert_same(optimizer.target, optax.apply_updates(PARAMS, updates))
    # Newer releases of optax say so themselves.
    with pytest.raises(TypeError, match="'shift'"):
        optimizer.apply_gradient(grads, **extra_args, shift=1.0)


def test_a_function_with_hyper_parameters() -> None:
    definition = from_optax(plateau, learning_rate=0.1)
    injected = optax.inject_hyperparams(plateau, static_args=("factor",))(0.1)
    optimizer, state = definition.create(PARAMS), injected.init(PARAMS)
    grads = jax.grad(loss_of)(PARAMS)
    for rate, value in ((0.1, 1.0), (0.3, 2.0), (0.1, 3.0), (0.1, 4.0)):
        state.hyperparams["learning_rate"] = jnp.float32(rate)
        updates, state = injected.update(grads, state, optimizer.target, value=value)
        expected = optax.apply_updates(optimizer.target, updates)
        optimizer = optimizer.apply_gradient(grads, learning_rate=rate, value=value)
        assert_same(optimizer.target, expected, ulps=2.0)
    assert float(optax.tree_utils.tree_get(optimizer.state, "scale")) == 0.5


def test_a_hyper_parameter_stays_one() -> None:
    def make(value: float) -> Any:
        return optax.chain(optax.sgd(value), optax.contrib.reduce_on_plateau())

    tx = optax.inject_hyperparams(make)(value=0.5)
    for definition in (from_optax(tx), from_optax(make, value=0.5)):
        optimizer = definition.create(PARAMS)
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'value'"):
            optimizer.apply_gradient(PARAMS, value=0.1)


TAKES_NONE = (optax.adam(0.1), optax.scale(-0.1), optax.inject_hyperparams(optax.sgd)(0.1))


# Two that take nothing, two that take a loss, and one that hands on what it wraps.
OFTEN = [*TAKES_NONE[:2], *(LOSS_ONLY[name] for name in ("plateau", "polyak", "partition"))]


@pytest.mark.parametrize(
    "tx",
    [
        pytest.param(tx, marks=() if any(tx is often for often in OFTEN) else exhaustive)
        for tx in (*TAKES_NONE, *LOSS_ONLY.values())
    ],
)
def test_what_nobody_takes_is_refused(tx: Any) -> None:
    takes = any(tx is each for each in LOSS_ONLY.values())
    optimizer = from_optax(tx).create(PARAMS)
    state = optimizer.to_train_state()
    known: dict[str, Any] = {"value": jnp.float32(1)} if takes else {}
    for name, value in (("loss", 1.0), ("mode", "fast"), ("obj_fn", loss_of), ("grad", PARAMS)):
        unknown = {**known, name: value}
        for _ in range(2):
            with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}' in its state"):
                optimizer.apply_gradient(PARAMS, **unknown)
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
                state.apply_gradients(grads=PARAMS, **unknown)
            optimizer.apply_gradient(PARAMS, **known)
            state.apply_gradients(grads=PARAMS, **known)
        with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
            jax.jit(lambda each, more: each.apply_gradient(PARAMS, **more, **known))(
                optimizer, {name: 1.0}
            )
        for convert in (
            optimizer.to_train_state,
            lambda **more: to_optax(from_optax(tx), PARAMS, **more),
        ):
            with pytest.raises(TypeError, match=f"has no hyper-parameter '{name}'"):
                convert(**{name: value})


def test_what_is_missing_is_said_by_optax() -> None:
    optimizer = from_optax(plateau()).create(PARAMS)
    for given in ({}, {"valu": 1.0}):
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'value'"):
            optimizer.apply_gradient(PARAMS, **given)
    # Nothing is remembered of a step that failed.
    with pytest.raises(TypeError, match="no hyper-parameter 'valu'"):
        optimizer.apply_gradient(PARAMS, value=1.0, valu=1.0)


def flag(updates: Any, state: Any, params: Any = None, *, fast: bool, **extra_args: Any) -> Any:
    del params, extra_args
    return jax.tree.map(lambda each: -each if fast else each, updates), state


def named(updates: Any, state: Any, params: Any = None, *, mode: str, **extra_args: Any) -> Any:
    del params, extra_args
    return jax.tree.map(lambda each: -each if mode == "fast" else each, updates), state


@pytest.mark.parametrize(
    ("update", "argument"), [(flag, {"fast": True}), (named, {"mode": "fast"})]
)
def test_arguments_that_are_no_arrays(update: Any, argument: Any) -> None:
    tx = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = from_optax(tx).create(jnp.ones(3))
    assert_same(optimizer.apply_gradient(jnp.ones(3), **argument).target, jnp.zeros(3))
    state = optimizer.to_train_state().apply_gradients(grads=jnp.ones(3), **argument)
    assert_same(state.params, jnp.zeros(3))


def test_fields_of_a_train_state_stay_fields() -> None:
    state = from_optax(plateau()).create(freeze(PARAMS)).to_train_state(apply_fn=loss_of)
    after = state.apply_gradients(grads=freeze(PARAMS), value=1.0, apply_fn=None)
    assert after.apply_fn is None
    assert state.apply_fn is loss_of
    assert int(after.step) == 1


def test_a_loss_that_changes_compiles_nothing() -> None:
    traces = []

    @jax.jit
    def step(optimizer: Any, value: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(PARAMS, value=value)

    # After the first: in optax 0.2.5 a plateau begins with weakly typed numbers.
    optimizer = step(from_optax(plateau()).create(PARAMS), 4.0)
    for value in (3.0, 2.0, 1.0):
        optimizer = step(optimizer, value)
        if value == 3.0:
            traces.clear()
    assert not traces


@pytest.mark.parametrize("name", ["polyak", "momo", "plateau"])
def test_outside_jit_no_more_is_compiled_than_by_optax(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    tx = CASES[name]
    optimizer, (params, state) = from_optax(tx).create(PARAMS), (PARAMS, tx.init(PARAMS))

    def compilations() -> int:
        found = sum("Compiling" in each.getMessage() for each in caplog.records)
        caplog.clear()
        return found

    for number, value in enumerate(map(jnp.float32, (3.0, 2.0, 1.0, 0.5))):
        with jax.log_compiles():
            optimizer = optimizer.apply_gradient(PARAMS, value=value)
        ours = compilations()
        with jax.log_compiles():
            updates, state = tx.update(PARAMS, state, params, value=value)
            params = optax.apply_updates(params, updates)
        theirs = compilations()
        if number >= 2:
            # A lax.cond, as a plateau has one, is compiled by jax for each function that is new.
            assert ours == theirs == (1 if name == "plateau" else 0)


def test_a_transformation_is_asked_once_for_each_name() -> None:
    asked = []

    def update(updates: Any, state: Any, params: Any = None, *, value: Any, **extra: Any) -> Any:
        asked.append(None)
        del params, extra
        return jax.tree.map(lambda each: -each * value, updates), state

    tx = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = from_optax(tx).create(PARAMS)
    state = optimizer.to_train_state()
    for number in range(3):
        optimizer = optimizer.apply_gradient(PARAMS, value=float(number))
    # A step, the same with something useless as the value, and then the steps themselves.
    assert len(asked) == 2 + 3
    for number in range(3):
        state = state.apply_gradients(grads=PARAMS, value=float(number))
    assert len(asked) <= 2 * (2 + 3)


def test_in_scan_and_pmap() -> None:
    optimizer = from_optax(plateau()).create(PARAMS)
    step = legacy(CASES["plateau"])
    expected = optimizer
    for _ in range(4):
        expected = jax.jit(step)(expected)

    scanned, _ = jax.jit(
        lambda each: jax.lax.scan(lambda each, _: (step(each), None), each, None, 4)
    )(optimizer)
    assert_same(scanned, expected, ulps=8.0)
    devices = jax.devices()[:2]
    replicated = jax_utils.replicate(optimizer, devices)
    for _ in range(4):
        replicated = jax.pmap(step)(replicated)
    assert_same(jax_utils.unreplicate(replicated), expected, ulps=8.0)


def test_a_step_may_donate() -> None:
    optimizer = from_optax(plateau()).create(jax.tree.map(jnp.copy, PARAMS))
    step = jax.jit(legacy(CASES["plateau"]), donate_argnums=0)
    for _ in range(2):
        optimizer = step(optimizer)
    assert np.isfinite(optimizer.target["w"]).all()


def test_optimize_hands_on() -> None:
    optimizer, value = (
        from_optax(optax.polyak_sgd()).create(PARAMS).optimize(loss_of, value=loss_of(PARAMS))
    )
    assert loss_of(optimizer.target) < value

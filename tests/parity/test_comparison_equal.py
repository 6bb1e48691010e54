"""Pairs that do the same: the report says so, bit for bit where the arithmetic is the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.core import freeze

from flaxoptim_compat import optim, parity, to_optax
from flaxoptim_compat.parity import trial
from tests.support import cases
from tests.support.options import each

STEPS = 12
CLASSES = [
    "Adam-all",
    "AdaBelief-all",
    "Adadelta-all",
    "Adafactor-all_factored",
    "Adagrad-eps",
    "GradientDescent-default",
    "LAMB-all",
    "LARS-all",
    "Momentum-all",
    "RMSProp-all",
    "WeightNorm-over_Adam",
    "MultiOptimizer-three",
]
# What is compared by another name, or has parts.
SOME = ["Adafactor-all_factored", "LARS-all", "MultiOptimizer-three"]
# Enough where it does not matter which leaves there are.
PARAMS = {"dense": trial.parameters()["dense"]}


def recorded_gradients(params: Any) -> list[Any]:
    return [cases.gradients(step, params) for step in range(STEPS)]


@pytest.mark.parametrize("name", each(CLASSES, ["Adafactor-all_factored", "MultiOptimizer-three"]))
def test_a_definition_and_what_to_optax_makes_of_it(name: str) -> None:
    case = cases.case(name)
    definition, params = case.build(optim), case.parameters()
    report = parity.compare(
        definition, to_optax(definition, params), params, recorded_gradients(params)
    )
    assert report.equal, report.first_parting
    # XLA folds the constant rate of Adafactor into its other constants, which rounds otherwise.
    assert report.identical or name.startswith("Adafactor"), report.first_difference
    assert report.notes == ()
    assert {track.leaf for track in report.tracks} == {
        "/".join(key.key for key in path) for path, _ in jax.tree_util.tree_leaves_with_path(params)
    }


@pytest.mark.parametrize("name", each(CLASSES, SOME))
def test_the_genuine_definition_and_ours(name: str, genuine: Any) -> None:
    case = cases.case(name)
    params = case.parameters()
    report = parity.compare(
        case.build(genuine), case.build(optim), params, recorded_gradients(params)
    )
    assert report.equal, report.first_parting
    assert report.causes == ()
    moments = {track.quantity for track in report.tracks} - {"parameter"}
    assert moments or name == "GradientDescent-default"


@pytest.mark.parametrize(
    ("legacy", "modern"),
    [
        (optim.Adam(0.01), optax.adam(0.01)),
        (optim.Adam(0.01, weight_decay=0.1), optax.adamw(0.01, weight_decay=0.1)),
        (optim.Momentum(0.01, beta=0.8), optax.sgd(0.01, momentum=0.8)),
        (
            optim.RMSProp(0.01, centered=True),
            optax.rmsprop(0.01, centered=True, eps_in_sqrt=False),
        ),
    ],
    ids=["adam", "adamw", "sgd", "rmsprop"],
)
def test_plain_optax_that_is_exact(legacy: Any, modern: Any) -> None:
    def grads(params: Any, step: Any) -> Any:
        noise = trial.gradients(params, step)
        return jax.tree.map(lambda param, each: 0.1 * param + each, params, noise)

    for loop in ("open", "closed"):
        report = parity.compare(legacy, modern, PARAMS, grads, 60, loop=loop)
        assert report.equal, report.first_parting
        assert report.causes == () and report.loop == loop


def test_an_optimizer_on_its_way_and_its_train_state() -> None:
    optimizer = optim.LAMB(0.01, weight_decay=0.1).create(PARAMS)
    step = jax.jit(lambda each: each.apply_gradient(trial.gradients(each.target, each.state.step)))
    for _ in range(30):
        optimizer = step(optimizer)
    report = parity.compare(optimizer, optimizer.to_train_state(), None, trial.gradients, 20)
    assert report.identical, report.first_difference
    assert {track.names for track in report.tracks} == {
        ("parameter", "parameter"),
        ("grad_ema", "mu"),
        ("grad_sq_ema", "nu"),
    }


def test_a_pair_of_functions() -> None:
    def init(params: Any) -> Any:
        return {"momentum": jax.tree.map(jnp.zeros_like, params)}

    def step(params: Any, state: Any, grads: Any, learning_rate: Any = 0.1) -> Any:
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], grads)
        new = jax.tree.map(lambda p, m: p - learning_rate * m, params, momentum)
        return new, {"momentum": momentum}

    report = parity.compare(
        optim.Momentum(0.3),
        (init, step),
        PARAMS,
        trial.gradients,
        20,
        overrides={"learning_rate": lambda step: 0.1 / (1 + step)},
    )
    assert report.equal, report.first_parting
    assert ("momentum", "momentum") in {track.names for track in report.tracks}
    assert report.notes == ()


@pytest.mark.parametrize(
    ("first", "second", "leaves"),
    [
        (np.ones(3, np.float32), None, 1),
        ((np.ones(2, np.float32), np.zeros(3, np.float32)), None, 2),
        ({"w": 1.0}, None, 1),
        (freeze(PARAMS), PARAMS, 2),
    ],
    ids=["array", "tuple", "float", "frozen beside a dict"],
)
def test_parameters_of_any_shape(first: Any, second: Any, leaves: int) -> None:
    other = optax.adam(0.1) if second is None else optim.Adam(0.1).create(second).to_train_state()
    report = parity.compare(optim.Adam(0.1).create(first), other, None, trial.gradients, 5)
    assert report.identical
    expected = [*["parameter"] * leaves, *["mu"] * leaves, *["nu"] * leaves]
    assert [track.quantity for track in report.tracks] == expected


def test_masked_parts_are_put_together() -> None:
    params = trial.parameters()
    kernels = optim.ModelParamTraversal(lambda path, _: "kernel" in path)
    rest = optim.ModelParamTraversal(lambda path, _: "kernel" not in path)
    definition = optim.MultiOptimizer((kernels, optim.Adam(0.1)), (rest, optim.Adam(0.2)))
    labels = {
        "conv": {"kernel": "a"},
        "dense": {"kernel": "a", "bias": "b"},
        "embed": {"embedding": "b"},
        "norm": {"scale": "b"},
        "temperature": "b",
    }
    tx = optax.multi_transform({"a": optax.adam(0.1), "b": optax.adam(0.2)}, labels)
    report = parity.compare(definition, tx, params, trial.gradients, 10)
    assert report.identical
    assert len(report.tracks) == 3 * len(jax.tree.leaves(params))
    assert report.notes == ()


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_half_precision(dtype: Any) -> None:
    params = {"dense": trial.parameters(dtype)["dense"]}
    report = parity.compare(optim.Momentum(0.1), optax.sgd(0.1, 0.9), params, trial.gradients, 20)
    assert report.equal, report.first_parting
    assert {track.dtype for track in report.tracks} == {np.dtype(dtype)}


@pytest.mark.usefixtures("x64")
def test_double_precision_is_compared_as_such() -> None:
    params = {"dense": trial.parameters(jnp.float64)["dense"]}
    other = optax.chain(optax.sgd(0.1), optax.scale(1.0 + 1e-9))
    report = parity.compare(optim.GradientDescent(0.1), other, params, trial.gradients, 5)
    assert not report.equal
    same = parity.compare(
        optim.GradientDescent(0.1), optax.sgd(0.1), params, trial.gradients, 5, tolerance=0
    )
    assert same.equal


def test_integers_that_a_step_makes_floats() -> None:
    params = {"w": np.arange(4), "b": np.zeros(2, np.float32)}
    grads = [{"w": np.ones(4, np.float32), "b": np.ones(2, np.float32)}] * 3
    report = parity.compare(optim.Momentum(0.1), optim.Momentum(0.1), params, grads)
    assert report.identical
    assert {track.dtype for track in report.tracks} == {np.dtype(np.float32)}


def test_nothing_to_train_and_nothing_to_do() -> None:
    empty = parity.compare(optim.Adam(0.1), optax.adam(0.1), {}, trial.gradients, 3)
    assert empty.identical and empty.tracks == []
    start = parity.compare(optim.Adam(0.1), optax.adam(0.1), PARAMS, trial.gradients, 0)
    assert start.identical and start.steps == 0
    assert {len(track.error) for track in start.tracks} == {1}


@cache
def compilations() -> list[str]:
    """All compilations from now on; jax 0.7.2 has no way to stop listening."""
    found: list[str] = []

    def listen(event: str, duration: float, **kwargs: Any) -> None:
        if event.endswith("backend_compile_duration"):
            found.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return found


def test_a_thousand_steps_are_traced_and_compiled_no_more_often_than_one() -> None:
    def counted(steps: int) -> tuple[int, int]:
        traces = 0

        def grads(params: Any, step: Any) -> Any:
            nonlocal traces
            traces += 1
            return jax.tree.map(jnp.ones_like, params)

        before = len(compilations())
        params = {"w": jnp.ones(7)}
        parity.compare(optim.Adam(0.1), optax.adam(0.1), params, grads, steps)
        return traces, len(compilations()) - before

    counted(2)  # what jax compiles once for all
    few, many = counted(2), counted(1000)
    assert few == many
    assert few[1] >= 2

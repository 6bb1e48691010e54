"""What Flax 0.5.3 held its own ``flax.optim`` to, here and in the genuine one.

The numbers are those of its tests: parameters, gradients and states of numpy, worked out by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import traverse_util

from flaxoptim_compat import nn, optim

HALF_ADAM = {"learning_rate": 0.1, "beta1": 0.2, "beta2": 0.9, "eps": 0.01, "weight_decay": 0.0}


@pytest.fixture(params=["here", "genuine"])
def flax_optim(request: pytest.FixtureRequest) -> Any:
    return optim if request.param == "here" else request.getfixturevalue("genuine")


def state_of(definition: Any, step: int, **fields: Any) -> Any:
    """A state of one parameter, made by hand."""
    empty = definition.init_state(np.zeros((1,)))
    states = empty.param_states.replace(**fields) if fields else empty.param_states
    return empty.replace(step=step, param_states=states)


def moved(definition: Any, param: Any, state: Any, grad: Any) -> Any:
    return definition.apply_gradient(definition.hyper_params, param, state, grad)


def assert_close(found: Any, expected: Any, rtol: float = 1e-7) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol)


def test_a_definition_creates_an_optimizer(flax_optim: Any) -> None:
    definition = flax_optim.Momentum(learning_rate=0.1, beta=0.2)
    target = np.ones((1,))
    optimizer = definition.create(target)
    assert optimizer.optimizer_def == definition
    assert optimizer.state == state_of(definition, 0, momentum=np.zeros((1,)))
    assert optimizer.target == target


@pytest.mark.filterwarnings("ignore:compute_gradient")
def test_gradients_are_computed(flax_optim: Any) -> None:
    optimizer = flax_optim.Momentum(learning_rate=0.1, beta=0.2).create(np.ones(()))
    assert optimizer.compute_gradient(lambda x: 2.0 * x) == (2.0, 2.0)
    assert optimizer.compute_gradient(lambda x: (3.0 * x, 4.0)) == (3.0, 4.0, 3.0)


@pytest.mark.filterwarnings("ignore:.*raversal.*:DeprecationWarning")
def test_one_parameter_is_in_focus(flax_optim: Any) -> None:
    focus = traverse_util.t_identity["a"]
    definition = flax_optim.GradientDescent(learning_rate=1.0)
    optimizer = definition.create({"a": 0.0, "b": 0.0}, focus=focus)
    assert optimizer.state == flax_optim.OptimizerState(0, {"a": (), "b": None})
    optimizer = optimizer.apply_gradient({"a": -1.0, "b": -2.0})
    assert optimizer.state == flax_optim.OptimizerState(1, {"a": (), "b": None})
    assert optimizer.target == {"a": 1.0, "b": 0.0}


def test_there_may_be_no_parameter(flax_optim: Any) -> None:
    optimizer = flax_optim.Momentum(learning_rate=0.1).create({}).apply_gradient({})
    assert optimizer.state == flax_optim.OptimizerState(1, {})


@pytest.mark.filterwarnings("ignore:.*raversal.*:DeprecationWarning")
def test_a_traversal_wants_parameters(flax_optim: Any) -> None:
    traversal = flax_optim.ModelParamTraversal(lambda *_: True)
    with pytest.raises(ValueError, match=r"model|Model|FrozenDict|dict"):
        list(traversal.iterate(np.ones(1)))


@pytest.mark.filterwarnings("ignore:.*raversal.*:DeprecationWarning")
def test_a_traversal_selects_parameters(flax_optim: Any) -> None:
    names = []

    def is_kernel(name: str, _: Any) -> bool:
        names.append(name)
        return "kernel" in name

    tree = {"x": {"kernel": 1, "bias": 2, "y": {"kernel": 3, "bias": 4}, "z": {}}}
    traversal = flax_optim.ModelParamTraversal(is_kernel)
    assert list(traversal.iterate(tree)) == [1, 3]
    assert set(names) == {"/x/kernel", "/x/bias", "/x/y/kernel", "/x/y/bias"}
    doubled = {"x": {"kernel": 2, "bias": 2, "y": {"kernel": 6, "bias": 4}, "z": {}}}
    assert traversal.update(lambda x: x + x, tree) == doubled


def test_a_traversal_selects_parameters_of_a_model() -> None:
    """Of ``flax.nn``, which the genuine one of Flax 0.5.3 does not know."""
    traversal = optim.ModelParamTraversal(lambda name, _: "kernel" in name)
    model = nn.Model(None, {"x": {"kernel": 1, "bias": 2, "z": {}}})
    assert list(traversal.iterate(model)) == [1]
    expected = nn.Model(None, {"x": {"kernel": 2, "bias": 2, "z": {}}})
    assert traversal.update(lambda x: x + x, model) == expected


@pytest.mark.filterwarnings("ignore:.*raversal.*:DeprecationWarning")
def test_several_optimizers(flax_optim: Any) -> None:
    a, b = (traverse_util.t_identity[name] for name in "ab")
    parts = [flax_optim.GradientDescent(learning_rate=rate) for rate in (1.0, 10.0)]
    definition = flax_optim.MultiOptimizer((a, parts[0]), (b, parts[1]))
    assert definition.hyper_params == [part.hyper_params for part in parts]
    target = {"a": 0.0, "b": 0.0, "c": {}}
    no_moments: dict[str, Any] = {"a": (), "b": (), "c": {}}
    state = definition.init_state(target)
    assert state == flax_optim.OptimizerState(0, no_moments)
    grads = {"a": -1.0, "b": -2.0, "c": {}}
    new, after = moved(definition, target, state, grads)
    assert new == {"a": 1.0, "b": 20.0, "c": {}}
    assert after == flax_optim.OptimizerState(1, no_moments)
    overridden = definition.update_hyper_params(learning_rate=2.0)
    new, _ = definition.apply_gradient(overridden, target, state, grads)
    assert new == {"a": 2.0, "b": 4.0, "c": {}}


MADE = {"learning_rate": 0.1, "beta2": 0.9, "eps": 0.01}
# The optimizer, what it is made with, all of its hyper-parameters in the order of Flax; its state
# before a step and after it, and what becomes of a parameter of 1 with a gradient of 4.
STEPS = [
    ("GradientDescent", {"learning_rate": 0.1}, (0.1,), {}, {}, 0.6),
    (
        "Momentum",
        {"learning_rate": 0.1, "beta": 0.2},
        (0.1, 0.2, 0, False),
        {"momentum": 1.0},
        {"momentum": 4.2},
        1.0 - 0.1 * 4.2,
    ),
    (
        "Adam",
        HALF_ADAM,
        (0.1, 0.2, 0.9, 0.01, 0.0),
        {"grad_ema": 0.1, "grad_sq_ema": 0.9},
        {"grad_ema": 3.22, "grad_sq_ema": 2.41},
        0.906085,
    ),
    (
        "Adagrad",
        {"learning_rate": 0.1, "eps": 0.01},
        (0.1, 0.01),
        {"G": 0.1},
        {"G": 16.1},
        0.9005588,
    ),
    ("RMSProp", MADE, (0.1, 0.9, 0.01, False), {"v": 0.1}, {"v": 1.69}, 0.6946565),
]


# The genuine one hands numpy's float64 to jax.
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype float64:UserWarning")
@pytest.mark.parametrize(("name", "kwargs", "hyper_params", "before", "after", "expected"), STEPS)
def test_first_states_and_steps(
    flax_optim: Any,
    name: str,
    kwargs: Mapping[str, Any],
    hyper_params: tuple[Any, ...],
    before: Mapping[str, float],
    after: Mapping[str, float],
    expected: float,
) -> None:
    definition = getattr(flax_optim, name)(**kwargs)
    assert definition.hyper_params == type(definition.hyper_params)(*hyper_params)
    zeros = dict.fromkeys(before, np.zeros((1,)))
    assert definition.init_state(np.zeros((1,))) == state_of(definition, 0, **zeros)
    state = state_of(definition, 1, **{key: np.array([each]) for key, each in before.items()})
    new, found = moved(definition, np.array([1.0]), state, np.array([4.0]))
    # These two are computed by numpy.
    exact = name in ("GradientDescent", "Momentum")
    assert_close(new, [expected], rtol=0.0 if exact else 1e-7)
    # To the bit: what is computed in 64 bits is rounded once.
    assert found == state_of(definition, 2, **{key: np.array([x]) for key, x in after.items()})


# The smallest dimension to factor and beta1, and a step with ones for a 3 × 2 parameter: what is
# kept of it before and after.
ADAFACTOR_STEPS = [
    (
        {"min_dim_size_to_factor": 0, "beta1": None},
        {"v_row": [0.9, 0.9], "v_col": [0.1, 0.1, 0.1], "v": [0.0], "m": [0.0]},
        {"v_row": [0.9574349] * 2, "v_col": [0.6169143] * 3, "v": [0.0], "m": [0.0]},
    ),
    (
        {"min_dim_size_to_factor": 32, "beta1": 0.0},
        {"v_row": [0.0], "v_col": [0.0], "v": [[0.5] * 2] * 3, "m": [[0.0] * 2] * 3},
        {"v_row": [0.0], "v_col": [0.0], "v": [[0.787174] * 2] * 3, "m": [[0.1] * 2] * 3},
    ),
]


@pytest.mark.parametrize(("kwargs", "before", "after"), ADAFACTOR_STEPS)
def test_first_states_and_steps_of_adafactor(
    flax_optim: Any, kwargs: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    definition = flax_optim.Adafactor(learning_rate=0.1, decay_rate=0.8, **kwargs)
    smallest, beta1 = kwargs.values()
    expected = (0.1, True, True, beta1, 0.8, 0, 1.0, None, smallest, 1e-30, 1e-3)
    assert definition.hyper_params == type(definition.hyper_params)(*expected)
    fields = {name: np.array(each) for name, each in before.items()}
    state = definition.init_state(np.zeros((3, 2)))
    assert state.step == 0
    for name, each in fields.items():
        found = getattr(state.param_states, name)
        assert found.shape == each.shape and not found.any()
    ones = np.ones((3, 2), np.float32)
    new, after_one = moved(definition, ones, state_of(definition, 1, **fields), ones)
    assert_close(new, 0.9 * ones)
    assert after_one.step == 2
    for name, each in after.items():
        assert_close(getattr(after_one.param_states, name), each, rtol=1e-6)


@pytest.mark.parametrize(("shape", "factored"), [((64, 64), True), ((31, 64), False)])
def test_adafactor_factors_large_parameters(
    flax_optim: Any, shape: tuple[int, ...], factored: bool
) -> None:
    definition = flax_optim.Adafactor(0.1, decay_rate=0.8, beta1=None, min_dim_size_to_factor=32)
    state = definition.init_state(np.zeros(shape)).param_states
    assert state.m.shape == (1,)
    assert state.v.shape == ((1,) if factored else shape)
    assert state.v_row.shape == state.v_col.shape == ((64,) if factored else (1,))


def test_momentum_with_weight_norm(flax_optim: Any) -> None:
    definition = flax_optim.WeightNorm(flax_optim.Momentum(0.1))
    params = np.ones((2, 2)) * 2.0
    state = definition.init_state(params)
    fields = state.param_states
    assert fields.direction_state.momentum.shape == fields.direction.shape == (2, 2)
    assert fields.scale_state.momentum.shape == fields.scale.shape == (1, 2)
    new, after = moved(definition, params, state, np.ones((2, 2)))
    assert_close(new, np.full_like(params, 1.9))
    assert_close(after.param_states.scale, np.full((1, 2), 1.9 * 2**0.5))


def test_dynamic_scale() -> None:
    """It stood in ``flax.optim`` until Flax 0.5."""

    def loss(p: jax.Array) -> jax.Array:
        return jnp.asarray(p, jnp.float16) ** 2

    scale = optim.DynamicScale(growth_interval=2)
    step = jax.jit(lambda scale, p: scale.value_and_grad(loss)(p))
    inf, nan = float("inf"), float("nan")
    for expected in [
        (False, nan, 32768.0, inf),
        (False, 1.0, 16384.0, inf),
        (True, 1.0, 16384.0, 2.0),
        (True, 1.0, 16384.0, 2.0),
        (True, 1.0, 32768.0, 2.0),
        (False, 1.0, 16384.0, inf),
    ]:
        scale, finite, value, grad = step(scale, jnp.array(1.0, jnp.float32))
        assert_close((finite, value, scale.scale, grad), expected)

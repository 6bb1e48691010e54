"""Each error says what the user needs, and is raised by this package, not from inside jax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization
from flax.core import FrozenDict

from flaxoptim_compat import optim, strict
from flaxoptim_compat.catalogue import PLAIN
from tests.support.own_errors import (
    PARAMS,
    edited,
    in_multi_optimizer,
    in_weight_norm,
    raises,
)

NAMES = [row.name for row in PLAIN]


def apply(optimizer: Any, grads: Any = PARAMS, **overrides: Any) -> Any:
    return optimizer.apply_gradient(grads, **overrides)


def apply_in_jit(optimizer: Any, grads: Any = PARAMS, **overrides: Any) -> Any:
    return jax.jit(lambda optimizer, grads: apply(optimizer, grads, **overrides))(optimizer, grads)


in_and_outside_jit = pytest.mark.parametrize("step", [apply, apply_in_jit])


def alone(definition: Any) -> Any:
    return definition


wrapped_or_not = pytest.mark.parametrize("wrap", [alone, in_weight_norm, in_multi_optimizer])


@in_and_outside_jit
@wrapped_or_not
@pytest.mark.parametrize("name", NAMES)
def test_no_learning_rate(genuine: Any, name: str, wrap: Callable[[Any], Any], step: Any) -> None:
    with pytest.raises(AssertionError) as theirs:
        apply(getattr(genuine, name)().create(PARAMS))
    optimizer = wrap(getattr(optim, name)()).create(PARAMS)
    with raises(AssertionError, str(theirs.value), f"{name}(learning_rate=...)"):
        step(optimizer)
    # The first that lacks a rate is named, and None reaches every part of a MultiOptimizer.
    first = "Adam" if wrap is in_multi_optimizer else name
    with raises(AssertionError, "no learning rate provided.", f"{first}(learning_rate=...)"):
        step(wrap(getattr(optim, name)(0.1)).create(PARAMS), learning_rate=None)


@in_and_outside_jit
@pytest.mark.parametrize("name", NAMES)
def test_unknown_override(name: str, step: Any) -> None:
    definition = getattr(optim, name)(0.1)
    known = vars(definition.hyper_params)
    with raises(TypeError, name, "'momentum_rate'", *known):
        step(definition.create(PARAMS), learning_rate=0.2, momentum_rate=0.9)


@in_and_outside_jit
def test_unknown_override_of_what_is_made_of_others(genuine: Any, step: Any) -> None:
    normed = optim.WeightNorm(optim.Momentum(0.1)).create(PARAMS)
    known = ("learning_rate", "beta", "weight_decay", "nesterov", "wn_decay", "wn_eps")
    with raises(TypeError, "'bogus'", *known):
        step(normed, bogus=1.0, wn_decay=0.1)
    several = in_multi_optimizer(optim.LARS(0.1)).create(PARAMS)
    with raises(TypeError, "Adam", "'bogus'", "learning_rate", "beta1", "eps"):
        step(several, bogus=1.0)
    # Adam has this one, LARS has not; the genuine raises TypeError here, too.
    with raises(TypeError, "LARS", "'beta1'", "learning_rate", "trust_coefficient"):
        step(several, beta1=0.8)
    kernels = genuine.ModelParamTraversal(lambda path, _: "kernel" in path)
    theirs = genuine.MultiOptimizer((kernels, genuine.LARS(0.1))).create(PARAMS)
    with pytest.raises(TypeError):
        apply(theirs, beta1=0.8)


TUPLE = (jnp.ones(2), jnp.ones(4))
MISFITS = {
    "missing": (edited(PARAMS, "dense/kernel"), "['dense']['kernel']"),
    "extra": (edited(PARAMS, "dense/extra", jnp.ones(3)), "['dense']['extra']"),
    "extra_none": (edited(PARAMS, "dense/extra", None), "['dense']['extra']"),
    "leaf_for_subtree": (edited(PARAMS, "dense", jnp.ones(3)), "['dense']"),
    "subtree_for_leaf": (edited(PARAMS, "dense/bias", {"a": jnp.ones(3)}), "['dense']['bias']"),
    "none": (edited(PARAMS, "dense/bias", None), "['dense']['bias']"),
    "tuple_for_dict": (edited(PARAMS, "pair", TUPLE), "['pair']"),
    "transposed": (edited(PARAMS, "dense/kernel", jnp.ones((3, 2))), "['dense']['kernel']"),
}
DEFINITIONS = {
    "plain": optim.Adam(0.1),
    "weight_norm": optim.WeightNorm(optim.Adam(0.1)),
    "multi_optimizer": in_multi_optimizer(optim.Adam(0.1)),
}


@in_and_outside_jit
@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
@pytest.mark.parametrize(("grads", "path"), MISFITS.values(), ids=MISFITS)
def test_gradients_that_do_not_fit(grads: Any, path: str, definition: Any, step: Any) -> None:
    with raises(ValueError, f" {path}"):
        step(definition.create(PARAMS), grads)


@in_and_outside_jit
def test_gradients_that_do_not_fit_a_tuple(step: Any) -> None:
    for grads, path in ((list(TUPLE), "['pair']"), (TUPLE[:1], "['pair'][1]")):
        with raises(ValueError, f" {path}"):
            step(optim.Adam(0.1).create({"pair": TUPLE}), {"pair": grads})


LEAF, NODE = jnp.ones(3), {"w": jnp.ones(3)}
DIFFERENCES = {
    "none_in_both": (
        {"a": None, "b": NODE},
        {"a": None, "b": LEAF},
        "at ['b'] the target has a dict, gradients have a leaf.",
    ),
    "none_for_node": (NODE, None, "at the root the target has a dict, gradients have None."),
    "missing": (
        {"a": NODE},
        {"a": {}},
        "at ['a']['w'] the target has a leaf, gradients have nothing.",
    ),
    "extra": ({}, {"a": None}, "at ['a'] the target has nothing, gradients have None."),
    "subtree_for_leaf": (
        {"a": LEAF, "b": [LEAF]},
        {"a": NODE, "b": (LEAF,)},
        "at ['b'] the target has a list, gradients have a tuple.",
    ),
}

if jax.__version_info__ >= (0, 5):  # before, None was the beginning of any tree
    DIFFERENCES["leaf_for_none"] = (
        {"a": None},
        {"a": LEAF},
        "at ['a'] the target has None, gradients have a leaf.",
    )


@pytest.mark.parametrize(("target", "grads", "where"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_the_first_difference_is_named(target: Any, grads: Any, where: str) -> None:
    with raises(ValueError) as raised:
        apply(optim.GradientDescent(0.1).create(target), grads)
    expected = f"gradients do not have the structure of the target: {where}"
    assert str(raised.value) == expected


@in_and_outside_jit
@pytest.mark.parametrize("name", ["Adafactor", "Adam", "Momentum"])
def test_a_derivative_of_integers_moves_nothing(genuine: Any, name: str, step: Any) -> None:
    params = {"w": jnp.ones(3), "count": jnp.arange(3)}
    grads = {"w": jnp.ones(3), "count": np.zeros(3, jax.dtypes.float0)}
    if name != "Adafactor":  # which took it for zeros under jit, and refused it outside
        with pytest.raises((TypeError, ValueError)):
            step(getattr(genuine, name)(0.1).create(params), grads)
    with raises(ValueError, " ['count']", "float0", "create(target, focus=...)"):
        step(getattr(optim, name)(0.1).create(params), grads)


NO_NUMBERS = {
    "text": "0.1",
    "list": [0.1],
    "dict": {"a": 0.1},
    "complex": 0.1j,
    "complex array": jnp.asarray(0.1j),
    "array of texts": np.asarray("0.1"),
}


@in_and_outside_jit
@wrapped_or_not
@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_a_hyper_parameter_that_is_no_number(
    genuine: Any, value: Any, wrap: Any, step: Any
) -> None:
    if not np.iscomplexobj(value):  # of which flax made the parameters complex
        with pytest.raises(TypeError):
            apply(genuine.Momentum(value).create(PARAMS))
    with raises(TypeError, "`learning_rate` of Momentum must be a real number, not "):
        step(wrap(optim.Momentum(value)).create(PARAMS))
    with raises(TypeError, "`beta` of Momentum must be a real number, not "):
        step(wrap(optim.Momentum(0.1, beta=value)).create(PARAMS))
    with raises(TypeError, "`learning_rate` of ", " must be a real number, not "):
        step(wrap(optim.Momentum(0.1)).create(PARAMS), learning_rate=value)


def test_what_is_multiplied_as_a_number_is_one() -> None:
    optimizer = optim.Adam(0.1).create({"w": jnp.ones(3)})
    usual = apply(optimizer, optimizer.target)
    for rate in (np.float32(0.1), np.asarray(0.1), jnp.asarray(0.1), jnp.full(3, 0.1)):
        moved = apply(optimizer, optimizer.target, learning_rate=rate)
        np.testing.assert_allclose(moved.target["w"], usual.target["w"], rtol=1e-7)
    # True is 1, and so was False 0.
    assert (apply(optimizer, optimizer.target, learning_rate=False).target["w"] == 1).all()


GRADIENTS_OF_NO_NUMBERS = {
    "text": "text",
    "object": object(),
    "texts": np.array(["a", "b", "c"]),
    "objects": np.array([1, 2, 3], dtype=object),
    "times": np.zeros(3, "M8[s]"),
    "keys": jax.random.key(0),
}


@pytest.mark.parametrize("name", ["Adam", "Momentum"])
@pytest.mark.parametrize("value", GRADIENTS_OF_NO_NUMBERS.values(), ids=GRADIENTS_OF_NO_NUMBERS)
def test_gradients_and_parameters_that_are_no_numbers(genuine: Any, value: Any, name: str) -> None:
    grads = edited(PARAMS, "dense/bias", value)
    with pytest.raises(TypeError):
        apply(getattr(genuine, name)(0.1).create(PARAMS), grads)
    with raises(ValueError, "The gradient at ['dense']['bias'] has no "):
        apply(getattr(optim, name)(0.1).create(PARAMS), grads)
    if name == "Momentum" and not isinstance(value, jax.Array):
        with raises(ValueError, "The parameter at ['dense']['bias'] has no ", "no step can move"):
            apply(optim.GradientDescent(0.1).create(grads), PARAMS)


@in_and_outside_jit
@wrapped_or_not
@pytest.mark.parametrize("gradient", [jnp.full(3, 1j), np.full(3, 1j), 1j], ids=type)
def test_complex_gradients_of_real_parameters(wrap: Any, gradient: Any, step: Any) -> None:
    grads = edited(PARAMS, "dense/bias", gradient)
    with raises(ValueError, "The gradient at ['dense']['bias'] is complex, its parameter is real"):
        step(wrap(optim.Adam(0.1)).create(PARAMS), grads)


NO_COUNTS = {
    "text": "x",
    "bytes": b"5",
    "list": [1],
    "dict": {"a": 1},
    "complex": 1j,
    "too large": 2**64 - 1,
    "too small": -(2**31) - 1,
    "array of texts": np.array("x"),
}


@pytest.mark.parametrize("step", NO_COUNTS.values(), ids=NO_COUNTS)
def test_a_step_that_is_no_count_is_not_restored(step: Any) -> None:
    for definition in DEFINITIONS.values():
        optimizer = definition.create(PARAMS)
        state = serialization.to_state_dict(optimizer)
        state["state"]["step"] = step
        with raises(ValueError, "at state/step expected a count of steps, found "):
            optimizer.restore_state(state)


@pytest.mark.parametrize("make", [dict, FrozenDict])
def test_overlapping_traversals_are_the_error_of_the_genuine(
    genuine: Any, make: Callable[[Mapping[str, Any]], Any]
) -> None:
    messages = []
    for each in (genuine, optim):
        parts = [
            each.ModelParamTraversal(lambda path, _, part=part: part in path)
            for part in ("kernel", "dense", "bias")
        ]
        definition = each.MultiOptimizer(*((part, each.Adam(0.1)) for part in parts))
        with pytest.raises(ValueError, match="Multiple optimizers match") as caught:
            definition.create(make(PARAMS))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_unreplicating_what_is_not_replicated(genuine: Any) -> None:
    with pytest.raises(ValueError, match="Cannot unreplicate") as theirs:
        genuine.Adam(0.1).create(PARAMS).unreplicate()
    optimizer = optim.Adam(0.1).create(PARAMS)
    assert str(theirs.value) == "Cannot unreplicate an optimizer that is not replicated."
    for each in (optimizer, jax.tree.map(lambda leaf: leaf[None], optimizer)):
        with raises(ValueError, str(theirs.value), "jax_utils.unreplicate"):
            each.unreplicate()


@in_and_outside_jit
def test_hyper_params_of_a_multi_optimizer_that_do_not_fit(step: Any) -> None:
    optimizer = in_multi_optimizer(optim.LARS(0.1)).create(PARAMS)
    adam = optim.Adam(0.1).hyper_params
    for overrides in ({}, {"learning_rate": 0.2}):
        for count in (0, 1, 3):
            with strict(), raises(ValueError, f"{count} entries", "2 optimizers"):
                step(optimizer, hyper_params=[adam] * count, **overrides)
        with raises(ValueError, "hyper_params", "2 optimizers"):
            apply(optimizer, hyper_params=adam, **overrides)
    with raises(ValueError, "MultiOptimizer", "traversal"):
        optim.MultiOptimizer()

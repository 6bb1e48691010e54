"""Targets of every kind: containers, leaves, and mixtures of dict and FrozenDict."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import struct
from flax.core import FrozenDict, freeze, unfreeze

from flaxoptim_compat import compiled_steps, optim
from tests.support.options import each_value, params
from tests.support.side_by_side import assert_same, ulps

A = np.linspace(-1.0, 2.0, 6, dtype=np.float32).reshape(2, 3)
B = np.linspace(0.5, 1.0, 3, dtype=np.float32)


class Pair(NamedTuple):
    first: Any
    second: Any


@struct.dataclass
class Layer:
    kernel: Any
    bias: Any
    name: str = struct.field(pytree_node=False, default="layer")


TARGETS: dict[str, Any] = {
    "nested dict": {"a": {"w": jnp.asarray(A)}, "b": jnp.asarray(B)},
    "FrozenDict": freeze({"a": {"w": jnp.asarray(A)}, "b": jnp.asarray(B)}),
    "dict of FrozenDict": {"a": freeze({"w": jnp.asarray(A)}), "b": jnp.asarray(B)},
    "tuple": (jnp.asarray(A), (jnp.asarray(B),)),
    "list": [jnp.asarray(A), [jnp.asarray(B)]],
    "NamedTuple": Pair(jnp.asarray(A), Pair(jnp.asarray(B), jnp.asarray(A))),
    "dataclass": Layer(jnp.asarray(A), jnp.asarray(B), "first"),
    "array": jnp.asarray(A),
    "scalar": jnp.asarray(0.5),
    "Python floats": {"a": 1.0, "b": -2.5},
    "numpy": {"a": A, "b": np.float32(0.25)},
    "numpy float64": {"a": A.astype(np.float64), "b": np.float64(0.25)},
    "empty": {},
    "empty tuple": (),
    "None": None,
    "empty sub-dict": {"a": {}, "b": {"w": jnp.asarray(A), "none": {}}},
    "None in it": {"a": None, "b": {"w": jnp.asarray(A), "x": None}},
    "integers": {"a": jnp.arange(3), "b": jnp.asarray(B)},
    "Python int": {"a": 3, "b": jnp.asarray(B)},
    "empty array": {"a": jnp.zeros((0, 3)), "b": jnp.asarray(B)},
    "overwrite": {"_overwrite_with_gradient": {"w": jnp.asarray(A)}, "b": jnp.asarray(B)},
}


DEFINITIONS: dict[str, Callable[[Any], Any]] = {
    "Momentum": lambda namespace: namespace.Momentum(0.1, nesterov=True),
    "Adam": lambda namespace: namespace.Adam(0.1, weight_decay=0.01),
    "Adagrad": lambda namespace: namespace.Adagrad(0.1),
    "Adafactor": lambda namespace: namespace.Adafactor(0.1, min_dim_size_to_factor=2),
}


def gradients(target: Any, step: int) -> Any:
    return jax.tree.map(
        lambda leaf: 0.3 * (step + 1) + jnp.asarray(leaf, jnp.float32) / (step + 2), target
    )


def apply(optimizer: Any, grads: Any) -> Any:
    return optimizer.apply_gradient(grads)


def train(optimizer: Any, steps: int, step: Callable[..., Any] = apply) -> Any:
    for number in range(steps):
        optimizer = step(optimizer, gradients(optimizer.target, number))
    return optimizer


@pytest.mark.parametrize(
    ("name", "kind"),
    params(
        itertools.product(DEFINITIONS, TARGETS),
        [
            *itertools.product(["Momentum"], TARGETS),
            *each_value(list(DEFINITIONS), list(TARGETS)),
        ],
    ),
)
def test_any_target_is_trained_as_by_the_genuine_optimizer(
    genuine: Any, name: str, kind: str
) -> None:
    target = TARGETS[kind]
    mine = DEFINITIONS[name](optim).create(target)
    if name == "Adafactor":
        # The genuine one needs leaves with a shape, and rounds integer parameters to integers.
        target = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), target)
    theirs = DEFINITIONS[name](genuine).create(target)
    assert_same(mine.state, theirs.state)
    mine, theirs = (train(each, 3, jax.jit(apply)) for each in (mine, theirs))
    assert_same(mine, theirs, ulps(name))


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", ["Momentum", "Adam"])
def test_outside_jit_a_target_has_its_structure_and_the_bits_of_each_operation(
    name: str, kind: str
) -> None:
    target = TARGETS[kind]
    before = DEFINITIONS[name](optim).create(target)
    after = train(before, 2)
    with compiled_steps(False):
        by_operation = train(before, 2)
    assert_same(after, by_operation)
    for each in (after, by_operation):
        assert type(each.target) is type(target) or kind == "scalar"
        assert jax.tree.structure(each.target) == jax.tree.structure(target)
        assert jax.tree.structure(each.state) == jax.tree.structure(before.state)
        leaves = jax.tree.leaves(each.target)
        assert all(isinstance(leaf, jax.Array) for leaf in leaves)
        assert {leaf.dtype for leaf in leaves} <= {jnp.dtype(jnp.float32)}


MIXED: dict[str, Callable[[Any], Any]] = {
    "Momentum": DEFINITIONS["Momentum"],
    "Adam": DEFINITIONS["Adam"],
    "WeightNorm": lambda namespace: namespace.WeightNorm(namespace.Momentum(0.1)),
    "MultiOptimizer": lambda namespace: namespace.MultiOptimizer(
        (namespace.ModelParamTraversal(lambda path, value: "w" in path), namespace.Momentum(0.1)),
    ),
    "own code": lambda namespace: own_code(namespace)(0.1),
}


def own_code(namespace: Any) -> Any:
    class OwnCode(namespace.Momentum):  # type: ignore[misc]
        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            momentum = 0.5 * state.momentum + grad
            return param - 0.1 * momentum, state.replace(momentum=momentum)

    return OwnCode


@pytest.mark.parametrize(
    ("target", "grads", "state"), list(itertools.product((unfreeze, freeze), repeat=3))
)
@pytest.mark.parametrize("name", MIXED)
def test_dict_and_frozen_dict_mix(
    genuine: Any, name: str, target: Any, grads: Any, state: Any
) -> None:
    plain = TARGETS["nested dict"]
    theirs = train(MIXED[name](genuine).create(plain), 2, jax.jit(apply))
    start = MIXED[name](optim).create(target(plain))
    mixed_state = start.state.replace(param_states=state(unfreeze(start.state.param_states)))
    mine = start.replace(state=mixed_state)
    for number in range(2):
        mine = jax.jit(apply)(mine, grads(unfreeze(gradients(mine.target, number))))
    assert_same(mine, theirs, ulps(name) if name != "MultiOptimizer" else 0.0)
    assert jax.tree.structure(mine.target) == jax.tree.structure(target(plain))
    assert jax.tree.structure(mine) == jax.tree.structure(start)


@pytest.mark.parametrize("name", MIXED)
def test_dict_and_frozen_dict_may_change_from_step_to_step(name: str) -> None:
    plain = TARGETS["nested dict"]
    expected = train(MIXED[name](optim).create(plain), 4)
    optimizer = MIXED[name](optim).create(plain)
    for number, (target, grads) in enumerate(
        itertools.product((freeze, unfreeze), (unfreeze, freeze))
    ):
        optimizer = optimizer.replace(target=target(optimizer.target))
        optimizer = optimizer.apply_gradient(grads(gradients(optimizer.target, number)))
        assert isinstance(optimizer.target, FrozenDict) == (target is freeze)
    assert_same(optimizer, expected)

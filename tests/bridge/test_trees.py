"""Targets of every kind: containers, leaves, mixtures of dict and FrozenDict; and their zeros."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import struct
from flax.core import FrozenDict, freeze, unfreeze
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from flaxoptim_compat import compiled_steps, optim
from flaxoptim_compat.bridge.trees import collecting_later, zeros_like
from tests.support.legacy_subclasses import FACTORIES
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
    "own_state": FACTORIES["own_state"],
}


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


MADE_ZEROS: dict[str, Callable[[], Any]] = {
    "complex64": lambda: jnp.ones(4, jnp.complex64),
    "bool": lambda: jnp.ones(4, bool),
    "a weak type": lambda: jnp.asarray(1.0),
    "a number": lambda: 1.5,
    "keys": lambda: jax.random.split(jax.random.key(0), 3),
    "on a device": lambda: jax.device_put(jnp.ones(3), jax.devices()[1]),
    "on a mesh": lambda: jax.device_put(
        jnp.ones(8), NamedSharding(Mesh(jax.devices(), ("x",)), PartitionSpec("x"))
    ),
}


def described_array(array: Any) -> Any:
    place = array.sharding, getattr(array, "committed", None)
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    numbers = np.asarray(jax.random.key_data(array) if is_key else array)
    return array.aval, place, numbers.tobytes()


@pytest.mark.parametrize("name", MADE_ZEROS)
def test_they_are_those_of_jax(name: str) -> None:
    param = MADE_ZEROS[name]()
    assert described_array(zeros_like(param)) == described_array(jnp.zeros_like(param))
    with jax.disable_jit():
        assert described_array(zeros_like(param)) == described_array(jnp.zeros_like(param))
    found = jax.jit(lambda: (zeros_like(param), jnp.zeros_like(param)))()
    assert described_array(found[0]) == described_array(found[1])


def test_they_are_on_the_default_device() -> None:
    with jax.default_device(jax.devices()[2]):
        param = jnp.ones(3)
        assert described_array(zeros_like(param)) == described_array(jnp.zeros_like(param))
    assert described_array(zeros_like(param)) == described_array(jnp.zeros_like(param))


def test_no_moment_shares_its_buffer() -> None:
    params = {str(number): jnp.ones(3) for number in range(4)}
    moments = jax.tree.leaves(optim.Adam(0.1).create(params).state.param_states)
    assert len({each.unsafe_buffer_pointer() for each in moments}) == 8


@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_search_for_garbage_is_as_it_was_afterwards(was_enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if was_enabled else gc.disable)()
        with collecting_later():
            assert not gc.isenabled()
        assert gc.isenabled() is was_enabled
        with pytest.raises(KeyError), collecting_later():
            raise KeyError
        assert gc.isenabled() is was_enabled
    finally:
        gc.enable() if before else gc.disable()


def test_it_waits_while_an_optimizer_is_created_and_moved_in_several_calls() -> None:
    seen: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        del info
        seen.append(phase)

    params = {f"{number:04}": jnp.ones(number % 7) for number in range(3000)}
    optimizer = optim.Adam(0.1).create(params).apply_gradient(params)
    # Then everything that a block makes is looked through in it, or nothing.
    limits = gc.get_threshold()
    gc.collect()
    gc.set_threshold(2000, *limits[1:])
    gc.callbacks.append(note)
    try:
        optim.Adam(0.1).create(params)
        created = len(seen)
        optimizer.apply_gradient(params)
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*limits)
    # Once, when it is over: each call adds a start and a stop.
    assert created <= 4 and len(seen) - created <= 4

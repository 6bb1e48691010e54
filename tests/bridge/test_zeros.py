"""An optimizer of many leaves begins with zeros as jax makes them, and is made in one go."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from flaxoptim_compat import optim
from flaxoptim_compat.bridge.trees import collecting_later, zeros_like

PARAMS: dict[str, Callable[[], Any]] = {
    "float32": lambda: jnp.ones((2, 3)),
    "bfloat16": lambda: jnp.ones(4, jnp.bfloat16),
    "complex64": lambda: jnp.ones(4, jnp.complex64),
    "int32": lambda: jnp.ones(4, jnp.int32),
    "bool": lambda: jnp.ones(4, bool),
    "a scalar": lambda: jnp.ones(()),
    "empty": lambda: jnp.ones((0, 3)),
    "a weak type": lambda: jnp.asarray(1.0),
    "numpy": lambda: np.ones(3, np.float64),
    "a number": lambda: 1.5,
    "keys": lambda: jax.random.split(jax.random.key(0), 3),
    "on a device": lambda: jax.device_put(jnp.ones(3), jax.devices()[1]),
    "on a mesh": lambda: jax.device_put(
        jnp.ones(8), NamedSharding(Mesh(jax.devices(), ("x",)), PartitionSpec("x"))
    ),
}


def described(array: Any) -> Any:
    place = array.sharding, getattr(array, "committed", None)
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    numbers = np.asarray(jax.random.key_data(array) if is_key else array)
    return array.aval, place, numbers.tobytes()


@pytest.mark.parametrize("name", PARAMS)
def test_they_are_those_of_jax(name: str) -> None:
    param = PARAMS[name]()
    assert described(zeros_like(param)) == described(jnp.zeros_like(param))
    with jax.disable_jit():
        assert described(zeros_like(param)) == described(jnp.zeros_like(param))
    found = jax.jit(lambda: (zeros_like(param), jnp.zeros_like(param)))()
    assert described(found[0]) == described(found[1])


def test_they_are_on_the_default_device() -> None:
    with jax.default_device(jax.devices()[2]):
        param = jnp.ones(3)
        assert described(zeros_like(param)) == described(jnp.zeros_like(param))
    assert described(zeros_like(param)) == described(jnp.zeros_like(param))


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

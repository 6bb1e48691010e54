"""The names of flax.nn: all of them are there, and no two stand for what was one."""

from __future__ import annotations

import importlib
import inspect
import sys
import threading
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import flaxoptim_compat
from flaxoptim_compat import nn
from tests.support.side_by_side import assert_same

PARTS = (
    *("activation", "attention", "base", "initializers", "linear", "normalization", "pooling"),
    *("recurrent", "stochastic", "utils"),
)
# What says of no class or function of theirs where it is from.
CONSTANTS = {
    "attention": {"SelfAttention"},
    "base": {"MODULE_CLASSMETHODS"},
    "linear": {"default_embed_init", "default_kernel_init"},
}
KEY = jax.random.PRNGKey(0)


def names_in(part: str, genuine_nn: Any) -> set[str]:
    """The public names of a module of the genuine one."""
    module = sys.modules[f"{genuine_nn.__name__}.{part}"]
    # All that these two have is from elsewhere, and of the others nothing is.
    home = "jax" if part in ("activation", "initializers") else module.__name__
    return CONSTANTS.get(part, set()) | {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and (getattr(value, "__module__", None) or "").startswith(home)
    }


def test_every_name_is_there(genuine_nn: Any) -> None:
    assert {name for name in vars(genuine_nn) if name[0] != "_"} - {"warnings"} == set(nn.__all__)
    assert all(hasattr(nn, name) for name in nn.__all__)
    with flaxoptim_compat.installed(era=True):
        for part in PARTS:
            names = names_in(part, genuine_nn)
            for package in ("flax.nn", "flax.deprecated.nn"):
                served = importlib.import_module(f"{package}.{part}")
                assert {name for name in names if not hasattr(served, name)} == set(), part


def test_activations_and_initializers_are_those_of_jax_as_they_always_were(
    genuine_nn: Any,
) -> None:
    now = {"normalize": jax.nn.standardize, "tanh": jnp.tanh}
    for name in names_in("activation", genuine_nn):
        assert getattr(nn.activation, name) is (now.get(name) or getattr(jax.nn, name))
        if name in nn.__all__:
            assert getattr(nn, name) is getattr(nn.activation, name)
    for name in names_in("initializers", genuine_nn):
        assert getattr(nn.initializers, name) is getattr(jax.nn.initializers, name)
    expected = jax.nn.initializers.lecun_normal()(KEY, (8, 4))
    assert (nn.linear.default_kernel_init(KEY, (8, 4)) == expected).all()


@pytest.mark.parametrize("pool", ["max_pool", "avg_pool"])
@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 0), (0, 1)]])
@pytest.mark.parametrize("strides", [None, (2, 1)])
def test_poolings(pool: str, padding: Any, strides: Any, genuine_nn: Any) -> None:
    x = np.random.RandomState(0).randn(2, 5, 6, 3).astype(np.float32)
    ours = getattr(nn, pool)(x, (2, 3), strides=strides, padding=padding)
    assert_same(ours, getattr(genuine_nn, pool)(x, (2, 3), strides=strides, padding=padding))
    with pytest.raises(AssertionError, match="must specify pads for"):
        getattr(nn, pool)(x, (2, 3), padding=[(1, 0)])


def test_carries_are_the_genuine_ones(genuine_nn: Any) -> None:
    init = jax.nn.initializers.normal()
    for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "ConvLSTM"):
        size: Any = (4, 4, 3) if name == "ConvLSTM" else 3
        ours = getattr(nn, name).initialize_carry(KEY, (2,), size, init)
        assert_same(ours, getattr(genuine_nn, name).initialize_carry(KEY, (2,), size, init))


def test_keys_and_dropout_by_context(genuine_nn: Any) -> None:
    x = jnp.ones((3, 40))

    def run(served: Any) -> Any:
        with served.stochastic(KEY):
            assert served.is_stochastic()
            first, outer = served.make_rng(), served.dropout(x, 0.3)
            with served.stochastic(first):
                inner = served.dropout(x, 0.6)
            given = served.dropout(x, 0.6, rng=KEY)
        assert not served.is_stochastic()
        return [first, outer, inner, given, served.make_rng]

    assert_same(run(nn)[:-1], run(genuine_nn)[:-1])
    assert nn.dropout(x, 0.0) is x and nn.dropout(x, 0.5, deterministic=True) is x
    with pytest.raises(ValueError, match=r"no random keys here"):
        nn.make_rng()


def test_a_stack_is_one_of_its_thread() -> None:
    stack, seen = nn.utils.CallStack(), []
    with stack.frame(1), stack.frame() as second:
        assert list(stack) == [1, second] and stack[-1] is second and len(stack) == 2
        thread = threading.Thread(target=lambda: seen.append(len(stack)))
        thread.start()
        thread.join()
    assert seen == [0] and not stack
    assert inspect.isfunction(nn.utils.classproperty)

"""Functions and classes that jax and flax had, each beside what it did."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen

from flaxoptim_compat.era import xla_bridge, xla_client
from flaxoptim_compat.legacy.stand_ins import (
    jax_config,
    jax_functions,
    jax_optix,
    jax_test_case,
    jax_test_util,
    jax_trees,
)
from flaxoptim_compat.legacy.stand_ins.flax_names import ConvLSTM
from flaxoptim_compat.legacy.stand_ins.jax_functions import soft_pmap
from tests.support.vectors import X

# --- functions of jax


def test_derivatives_in_forward_mode() -> None:
    f = jax_functions.custom_transforms(lambda x, y: x**2 * y)
    assert jax.grad(f)(3.0, 2.0) == 12.0
    jax_functions.defjvp(f, lambda t, ans, x, y: 10 * t * y, None)
    assert jax.grad(f, argnums=(0, 1))(3.0, 2.0) == (20.0, 0.0)
    jax_functions.defjvp_all(f, lambda primals, tangents: (f.fun(*primals), tangents[1]))
    assert jax.jvp(f, (3.0, 2.0), (5.0, 7.0)) == (18.0, 7.0)
    assert jax.jit(jax.grad(f, argnums=1))(3.0, 2.0) == 1.0


def test_derivatives_in_reverse_mode() -> None:
    @jax_functions.custom_transforms
    def f(x: Any, y: Any) -> Any:
        return jnp.sin(x) * y["a"]

    jax_functions.defvjp(f, lambda ct, ans, x, y: ct * ans, None)
    value, gradients = jax.jit(jax.value_and_grad(f, argnums=(0, 1)))(1.0, {"a": 3.0})
    assert gradients[0] == value and gradients[1] == {"a": 0.0}
    jax_functions.defvjp_all(f, lambda x, y: (x, lambda ct: (ct * y["a"], {"a": ct * x})))
    assert jax.value_and_grad(f, argnums=(0, 1))(2.0, {"a": 3.0}) == (2.0, (3.0, {"a": 2.0}))
    assert f.__name__ == "f"
    with pytest.raises(TypeError, match="custom_transforms"):
        jax_functions.defvjp(jnp.sin, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [1, 3])
def test_device_put(number: int) -> None:
    devices = jax.local_devices()[:number]
    tree = {"a": np.arange(6.0, dtype=np.float32).reshape(2, 3), "b": 1}
    replicated = jax_functions.device_put_replicated(tree, devices)
    assert replicated["a"].shape == (number, 2, 3) and replicated["b"].shape == (number,)
    assert [shard.device for shard in replicated["a"].addressable_shards] == devices
    shards = [jax.tree.map(lambda leaf, i=i: leaf + i, tree) for i in range(number)]
    sharded = jax_functions.device_put_sharded(shards, devices)
    summed = jax.pmap(lambda one, other: one["a"] + other["a"], devices=devices)(
        replicated, sharded
    )
    for i in range(number):
        assert np.array_equal(summed[i], 2 * tree["a"] + i)
    with pytest.raises(ValueError, match="at least one device"):
        jax_functions.device_put_replicated(tree, [])
    if number > 1:
        with pytest.raises(ValueError, match="same shapes"):
            jax_functions.device_put_sharded([X, X[:2], X], devices)


def test_to_dlpack() -> None:
    class Capsule:
        def __dlpack__(self, **kwargs: Any) -> Any:
            return jax_functions.to_dlpack(X)

        def __dlpack_device__(self) -> Any:
            return X.__dlpack_device__()

    assert np.from_dlpack(Capsule()).tolist() == X.tolist()


def test_msort_and_out() -> None:
    assert jax_functions.msort(jnp.asarray([[3, 1], [2, 5]])).tolist() == [[2, 1], [3, 5]]
    with pytest.raises(NotImplementedError, match="out"):
        jax_functions.fix(X, out=X)


def test_sph_harm() -> None:
    if not hasattr(jax.scipy.special, "sph_harm_y"):
        pytest.skip("this jax still has sph_harm itself")
    theta, phi = jnp.asarray([0.3, 2.0]), jnp.asarray([0.7, 1.1])
    order, degree = jnp.asarray([1, -1]), jnp.asarray([2, 1])
    # Written out: Y of order 1 and degree 2, and of order -1 and degree 1.
    first = -np.sqrt(15 / (8 * np.pi)) * np.sin(0.7) * np.cos(0.7) * np.exp(0.3j)
    second = np.sqrt(3 / (8 * np.pi)) * np.sin(1.1) * np.exp(-2.0j)
    found = jax_functions.sph_harm(order, degree, theta, phi, n_max=2)
    np.testing.assert_allclose(np.asarray(found), [first, second], rtol=1e-5)


def test_it_maps_over_more_than_there_are_devices() -> None:
    assert soft_pmap(lambda x: 2 * x)(X).tolist() == (2 * X).tolist()
    normalized = soft_pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(X)
    assert normalized.tolist() == (X / X.sum()).tolist()


def test_xla_computation() -> None:
    lowered = jax_functions.xla_computation(
        lambda x, n: (x * n).sum(), static_argnums=1, backend="cpu"
    )(X, 3)
    assert "HloModule" in lowered.as_hlo_text()
    analysis = xla_client._xla.hlo_module_cost_analysis(
        xla_bridge.get_backend(), lowered.as_hlo_module()
    )
    assert analysis["flops"] >= 7
    _, shapes = jax_functions.xla_computation(lambda x: {"y": x[:2]}, return_shape=True)(X)
    assert shapes == {"y": jax.ShapeDtypeStruct((2,), jnp.float32)}
    with pytest.raises(NotImplementedError, match="axis_env"):
        jax_functions.xla_computation(jnp.sin, axis_env=[("i", 2)])


# --- jax.config


def test_omnistaging_is_on() -> None:
    flags = ("omnistaging_enabled", "jax_omnistaging", "jax_experimental_name_stack")
    with ExitStack() as undo:
        jax_config.accept_omnistaging(undo)
        jax.config.enable_omnistaging()  # type: ignore[attr-defined]
        with ExitStack() as undo_again:
            jax_config.accept_omnistaging(undo_again)
        assert hasattr(jax_config.config, "enable_omnistaging")
        assert [getattr(jax.config, flag) for flag in flags] == [True] * 3
    for name in ("enable_omnistaging", *flags):
        assert not hasattr(jax.config, name)


# --- jax.experimental.optix


# What the module had, by its documentation.
NAMES = (
    "GradientTransformation InitUpdate OptState adam add_noise additive_weight_decay apply_every"
    " apply_updates chain clip clip_by_global_norm global_norm noisy_sgd rmsprop scale"
    " scale_by_adam scale_by_rms scale_by_schedule scale_by_stddev sgd trace"
)


def test_optix_has_what_it_had() -> None:
    assert [name for name in NAMES.split() if getattr(jax_optix, name) is None] == []
    with pytest.raises(AttributeError):
        _ = jax_optix.never


def test_noise_is_seeded() -> None:
    grads = {"a": jnp.ones(3)}
    steps = [
        optimizer.update(grads, optimizer.init(grads))[0]
        for optimizer in (jax_optix.noisy_sgd(0.1, seed=3), optax.noisy_sgd(0.1, 0.01, 0.55, 3))
    ]
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), *steps))


# --- jax.test_util, and jax's own test case


class Assertions(jax_test_case.JaxTestCase):  # type: ignore[misc]
    def test_what_holds(self) -> None:
        self.assertArraysEqual(X, np.asarray(X))
        self.assertArraysAllClose(X, X * (1 + 1e-7))
        self.assertAllClose({"a": [1.0, X]}, {"a": (1.0, X)})
        self.assertAllClose(X, np.asarray(X, np.float64))
        self.assertAllClose(X, np.asarray(X, np.float64), check_dtypes=False, rtol=1e-3)
        self.assertMultiLineStrippedEqual("  a\n  b ", "a\nb")
        self.rng().rand(3)

    def test_what_does_not(self) -> None:
        for assertion in (
            lambda: self.assertArraysEqual(X, X + 1),
            lambda: self.assertArraysEqual(X, X.astype(jnp.float16)),
            lambda: self.assertArraysAllClose(X, X * 1.001),
            lambda: self.assertArraysAllClose(X, X[:2]),
            lambda: self.assertAllClose({"a": X}, {"b": X}),
            lambda: self.assertAllClose([X], [X, X]),
            lambda: self.assertDtypesMatch(X, X.astype(int)),
            lambda: self.assertMultiLineStrippedEqual("a", "b"),
        ):
            with pytest.raises(AssertionError):
                assertion()


def test_check_eq_wants_the_same_structure() -> None:
    jax_test_util.check_eq({"a": X}, {"a": X})
    with pytest.raises(ValueError, match="'a'"):
        jax_test_util.check_eq({"a": X}, {"b": X})


# --- trees


def test_tree_map_says_where_trees_differ() -> None:
    with pytest.raises(ValueError, match=r"'b'|\(1, 2, 3\)"):
        jax_trees.tree_map(lambda *leaves: leaves, {"b": (1, None)}, {"b": (1, 2, 3)})
    with pytest.raises(ValueError, match="of the function itself"):
        jax_trees.tree_map(_raising, {"a": 1}, {"a": 2})


def _raising(*leaves: Any) -> None:
    raise ValueError("of the function itself")


# --- flax.linen.ConvLSTM


def test_conv_lstm_has_its_old_names_and_its_old_carry() -> None:
    key = jax.random.PRNGKey(0)

    class Encoder(linen.Module):
        @linen.compact
        def __call__(self, carry: Any, x: Any) -> Any:
            return ConvLSTM(features=6, kernel_size=(3, 3))(carry, x)

    x = jax.random.normal(key, (2, 4, 4, 3))
    carry = ConvLSTM.initialize_carry(key, (2,), (4, 4, 6))
    (_, y), variables = Encoder().init_with_output(key, carry, x)
    params = variables["params"]["ConvLSTM_0"]
    assert y.shape == (2, 4, 4, 6) and set(params) == {"ih", "hh"}
    now = linen.ConvLSTMCell(features=6, kernel_size=(3, 3))
    assert (now.apply({"params": params}, now.initialize_carry(key, x.shape), x)[1] == y).all()
    ones = ConvLSTM.initialize_carry(key, (2,), (4, 4, 6), linen.initializers.ones)
    assert all((part == 1).all() for part in ones)

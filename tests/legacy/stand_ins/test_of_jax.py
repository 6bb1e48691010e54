"""What stands in for names of jax that no installed jax has, to compare with."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.legacy.stand_ins import (
    jax_core,
    jax_custom_transforms,
    jax_device_put,
    jax_dlpack,
    jax_numpy,
    jax_ops,
    jax_scipy,
    jax_trees,
    jax_util,
    jax_x64,
)

X = jnp.linspace(0.5, 2.0, 4)


def test_indexed_updates_under_transformations() -> None:
    def program(x: Any) -> Any:
        return jnp.sum(jax_ops.index_update(x, jax_ops.index[1:3], 2.0 * x[0]) ** 2)

    expected = lambda x: jnp.sum(x.at[1:3].set(2.0 * x[0]) ** 2)
    assert jax.jit(jax.grad(program))(X).tolist() == jax.jit(jax.grad(expected))(X).tolist()
    batch = jax.vmap(lambda x: jax_ops.index_add(x, 0, 1.0))(jnp.zeros((2, 3)))
    assert batch.tolist() == [[1.0, 0.0, 0.0]] * 2
    assert jax_ops.index_mul.__name__ == "index_mul"
    assert "*= y" in str(jax_ops.index_mul.__doc__)


def test_tree_map_says_where_trees_differ() -> None:
    with pytest.raises(ValueError, match=r"'b'|\(1, 2, 3\)"):
        jax_trees.tree_map(lambda *leaves: leaves, {"b": (1, None)}, {"b": (1, 2, 3)})
    with pytest.raises(ValueError, match="of the function itself"):
        jax_trees.tree_map(_raising, {"a": 1}, {"a": 2})


def _raising(*leaves: Any) -> None:
    raise ValueError("of the function itself")


def test_msort_and_out() -> None:
    assert jax_numpy.msort(jnp.asarray([[3, 1], [2, 5]])).tolist() == [[2, 1], [3, 5]]
    with pytest.raises(NotImplementedError, match="out"):
        jax_numpy.fix(X, out=X)


def test_sph_harm() -> None:
    theta, phi = jnp.asarray([0.3, 2.0]), jnp.asarray([0.7, 1.1])
    order, degree = jnp.asarray([1, -1]), jnp.asarray([2, 1])
    # Written out: Y of order 1 and degree 2, and of order -1 and degree 1.
    first = -np.sqrt(15 / (8 * np.pi)) * np.sin(0.7) * np.cos(0.7) * np.exp(0.3j)
    second = np.sqrt(3 / (8 * np.pi)) * np.sin(1.1) * np.exp(-2.0j)
    found = jax_scipy.sph_harm(order, degree, theta, phi, n_max=2)
    np.testing.assert_allclose(np.asarray(found), [first, second], rtol=1e-5)


def test_derivatives_in_forward_mode() -> None:
    f = jax_custom_transforms.custom_transforms(lambda x, y: x**2 * y)
    assert jax.grad(f)(3.0, 2.0) == 12.0
    jax_custom_transforms.defjvp(f, lambda t, ans, x, y: 10 * t * y, None)
    assert jax.grad(f, argnums=(0, 1))(3.0, 2.0) == (20.0, 0.0)
    jax_custom_transforms.defjvp_all(f, lambda primals, tangents: (f.fun(*primals), tangents[1]))
    assert jax.jvp(f, (3.0, 2.0), (5.0, 7.0)) == (18.0, 7.0)
    assert jax.jit(jax.grad(f, argnums=1))(3.0, 2.0) == 1.0


def test_derivatives_in_reverse_mode() -> None:
    @jax_custom_transforms.custom_transforms
    def f(x: Any, y: Any) -> Any:
        return jnp.sin(x) * y["a"]

    jax_custom_transforms.defvjp(f, lambda ct, ans, x, y: ct * ans, None)
    value, gradients = jax.jit(jax.value_and_grad(f, argnums=(0, 1)))(1.0, {"a": 3.0})
    assert gradients[0] == value and gradients[1] == {"a": 0.0}
    jax_custom_transforms.defvjp_all(f, lambda x, y: (x, lambda ct: (ct * y["a"], {"a": ct * x})))
    assert jax.value_and_grad(f, argnums=(0, 1))(2.0, {"a": 3.0}) == (2.0, (3.0, {"a": 2.0}))
    assert f.__name__ == "f"
    with pytest.raises(TypeError, match="custom_transforms"):
        jax_custom_transforms.defvjp(jnp.sin, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [1, 3])
def test_device_put(number: int) -> None:
    devices = jax.local_devices()[:number]
    tree = {"a": np.arange(6.0, dtype=np.float32).reshape(2, 3), "b": 1}
    replicated = jax_device_put.device_put_replicated(tree, devices)
    assert replicated["a"].shape == (number, 2, 3) and replicated["b"].shape == (number,)
    assert [shard.device for shard in replicated["a"].addressable_shards] == devices
    shards = [jax.tree.map(lambda leaf, i=i: leaf + i, tree) for i in range(number)]
    sharded = jax_device_put.device_put_sharded(shards, devices)
    summed = jax.pmap(lambda one, other: one["a"] + other["a"], devices=devices)(
        replicated, sharded
    )
    for i in range(number):
        assert np.array_equal(summed[i], 2 * tree["a"] + i)
    with pytest.raises(ValueError, match="empty"):
        jax_device_put.device_put_replicated(tree, [])
    if number > 1:
        with pytest.raises(ValueError, match="same shapes"):
            jax_device_put.device_put_sharded([X, X[:2], X], devices)


def test_named_axes() -> None:
    sizes = jax.vmap(lambda x: x + jax_core.axis_frame("i").size, axis_name="i")(X)
    assert sizes.tolist() == (X + 4).tolist()
    with pytest.raises(NameError):
        jax_core.axis_frame("i")
    aval = jax.typeof(jnp.asarray(1.0))
    assert jax_core.raise_to_shaped(aval) is aval
    assert not jax_core.raise_to_shaped(aval, weak_type=False).weak_type


@pytest.mark.skipif(not hasattr(jax, "enable_x64"), reason="jax.experimental.enable_x64 is there")
def test_64_bit_numbers() -> None:
    @jax_x64.enable_x64()
    def wide() -> Any:
        with jax_x64.disable_x64():
            narrow = jnp.ones(1).dtype
        return jnp.ones(1).dtype, narrow

    assert wide() == (jnp.float64, jnp.float32)
    with jax_x64.enable_x64(False):
        assert jnp.ones(1).dtype == jnp.float32


def test_to_dlpack() -> None:
    class Capsule:
        def __dlpack__(self, **kwargs: Any) -> Any:
            return jax_dlpack.to_dlpack(X)

        def __dlpack_device__(self) -> Any:
            return X.__dlpack_device__()

    assert np.from_dlpack(Capsule()).tolist() == X.tolist()


def test_small_helpers() -> None:
    with pytest.raises(AssertionError, match=r"\[1, 2\]"):
        jax_util.safe_zip([1], [1, 2])
    assert jax_util.unzip3([(1, 2, 3), (4, 5, 6)]) == ((1, 4), (2, 5), (3, 6))
    assert jax_util.concatenate([[1], (2, 3)]) == [1, 2, 3]
    assert jax_util.curry(max)(1)(2, 3) == 3
    assert jax_util.ceil_of_ratio(7, 2) == 4
    assert [jax_util.canonicalize_axis(axis, 3) for axis in (-3, 0, 2)] == [0, 0, 2]
    with pytest.raises(ValueError, match="out of bounds"):
        jax_util.canonicalize_axis(3, 3)
    assert jax_util.tuple_insert((1, 2), 1, 5) == (1, 5, 2)
    assert jax_util.tuple_delete((1, 5, 2), 1) == (1, 2)

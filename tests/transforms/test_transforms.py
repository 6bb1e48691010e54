"""The transformations that optax has otherwise, or has not, in numbers that have no rounding.

That each optimizer made of them does what the genuine one did is in tests/optim/test_numbers.py.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat import transforms
from flaxoptim_compat.transforms.casting import (
    dtype_of,
    is_like_a_python_number,
    like_a_python_number,
    with_dtype,
)
from flaxoptim_compat.transforms.inlined import inlined
from flaxoptim_compat.transforms.weight_norm import merge, split_gradient
from tests.support.side_by_side import assert_same

HALF = {"w": jnp.ones(3, jnp.bfloat16)}


@pytest.mark.parametrize(
    ("param", "update", "scaled"),
    [
        ([3.0, 4.0], [0.0, 2.0], [0.0, 5.0]),
        ([3.0, 4.0], [0.0, 0.0], [0.0, 0.0]),  # and not NaN
        ([0.0, 0.0], [0.0, 2.0], [0.0, 0.0]),  # where optax takes 1 for the ratio
    ],
    ids=["both norms", "no update", "a parameter of zeros"],
)
def test_the_trust_ratio_of_lamb(
    param: list[float], update: list[float], scaled: list[float]
) -> None:
    params, updates = (jnp.asarray(each) for each in (param, update))
    tx = transforms.scale_by_lamb_trust_ratio()
    assert tx.update(updates, optax.EmptyState(), params)[0].tolist() == scaled


def test_in_float32_everything_is() -> None:
    params = jnp.full(2, 3.0, jnp.bfloat16)
    tx = transforms.in_float32(optax.trace(0.5))
    state = tx.init(params)
    update, after = tx.update(params, state, params)
    assert {each.dtype for each in (state.trace, update, after.trace)} == {np.dtype("float32")}


def test_moments_keep_their_dtype_beside_a_wide_decay() -> None:
    wide = optax.trace(jnp.float32(0.9))
    kept = transforms.keep_dtypes(wide)
    dtypes = [tx.update(HALF, tx.init(HALF))[1].trace["w"].dtype for tx in (wide, kept)]
    assert dtypes == [jnp.float32, jnp.bfloat16]


def test_the_filter_that_selects_a_parameter_gives_it_its_label() -> None:
    seen = []

    def is_matrix(path: str, value: object) -> bool:
        seen.append(path)
        return jnp.ndim(value) == 2

    params = {"dense": {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3)}, "scale": jnp.ones(())}
    is_bias = lambda path, _: "bias" in path
    labels = transforms.labels({"matrices": is_matrix, "dense": is_bias}, otherwise="frozen")
    expected = {"dense": {"kernel": "matrices", "bias": "dense"}, "scale": "frozen"}
    assert labels(params) == expected
    assert sorted(seen) == ["/dense/bias", "/dense/kernel", "/scale"]
    parts = {"matrices": optax.sgd(2.0), "dense": optax.sgd(1.0), "frozen": transforms.hold()}
    tx = optax.partition(parts, labels)
    moved = optax.apply_updates(params, tx.update(params, tx.init(params), params)[0])
    dense = {"kernel": -params["dense"]["kernel"], "bias": jnp.zeros(3)}
    assert_same(moved, {**params, "dense": dense})
    both = transforms.labels({"matrices": is_matrix, "all": lambda *_: True}, otherwise="frozen")
    with pytest.raises(ValueError, match=r"^Multiple filters select /dense/kernel: matrices, all"):
        optax.partition({**parts, "all": optax.sgd(1.0)}, both).init(params)


NEED_PARAMETERS = {
    "scale_by_lamb_trust_ratio": transforms.scale_by_lamb_trust_ratio(),
    "scale_by_lars_rate": transforms.scale_by_lars_rate(0.1),
    "scale_by_rate_and_parameter_rms": transforms.scale_by_rate_and_parameter_rms(0.1),
    "weight_norm": transforms.weight_norm(optax.trace(0.9)),
}


@pytest.mark.parametrize("name", NEED_PARAMETERS)
def test_what_cannot_do_without_the_parameters_says_so_with_its_name(name: str) -> None:
    tx: Any = NEED_PARAMETERS[name]
    with pytest.raises(ValueError, match=rf"^{name} needs the parameters: call `tx\.update\("):
        tx.update(jnp.ones(2), tx.init(jnp.ones(2)))


@pytest.mark.parametrize(
    "tx", [transforms.in_float32(optax.scale_by_factored_rms()), *NEED_PARAMETERS.values()]
)
def test_a_number_of_python_is_a_parameter_as_any_other(tx: Any) -> None:
    params = {"a": 0.5, "w": jnp.ones((2, 2))}
    grads = {"a": jnp.float32(1), "w": jnp.ones((2, 2))}
    arrays = jax.tree.map(jnp.asarray, params)
    updates = [tx.update(grads, tx.init(each), each)[0] for each in (params, arrays)]
    assert jax.tree.all(jax.tree.map(jnp.array_equal, *updates))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16], ids=str)
def test_the_gradients_of_the_factors_are_those_of_jax(dtype: Any) -> None:
    """To the bit, with a column of zeros among them, whose square is a constant."""
    columns = jnp.linspace(-1.0, 2.0, 20 * 6).reshape(4, 5, 6).at[..., 2].set(0.0)
    direction = {"kernel": columns.astype(dtype), "bias": jnp.ones(6, dtype)}
    scale = {"kernel": jnp.linspace(0.5, 3.0, 6).reshape(1, 1, 6).astype(dtype), "bias": ()}
    grads = jax.tree.map(jnp.cos, direction)

    def of_jax(grads: Any, direction: Any, scale: Any) -> Any:
        _, pull_back = jax.vjp(lambda *factors: merge(*factors, 0.0), direction, scale)
        of_direction, of_scale = pull_back(grads)
        decayed = of_direction["kernel"] + 0.1 * direction["kernel"]
        return of_direction | {"kernel": decayed}, of_scale

    found = jax.jit(lambda *each: split_gradient(*each, 0.1, 0.0))(grads, direction, scale)
    assert_same(found, jax.jit(of_jax)(grads, direction, scale))
    assert not any(jnp.isnan(leaf).any() for leaf in jax.tree.leaves(found))


def test_a_function_is_traced_once_for_equal_shapes_and_not_compiled_apart() -> None:
    calls = []

    @inlined
    def square(array: jax.Array) -> jax.Array:
        """The square."""
        calls.append((array.shape, isinstance(array, jax.core.Tracer)))
        return array * array

    shapes = [jnp.ones(2), jnp.ones(2), jnp.ones(2), jnp.ones(3)]
    jaxpr = jax.make_jaxpr(lambda arrays: [square(each) for each in arrays])(shapes)
    # Since jax 0.12 such a function becomes a part of its caller when that is compiled.
    inner = [
        each.params["jaxpr"].eqns[0] if each.params.get("inline") else each for each in jaxpr.eqns
    ]
    assert [each.primitive.name for each in inner] == ["mul"] * 4
    assert square.__doc__ == "The square."
    # On arrays it runs as it stands.
    for _ in range(2):
        square(jnp.ones(2))
    assert calls == [((2,), True), ((3,), True), ((2,), False), ((2,), False)]


@pytest.mark.parametrize(
    "leaf",
    [1, 1.5, True, np.float64(2), np.ones(2, np.int8), jnp.ones(2, jnp.bfloat16), jnp.asarray(1.0)],
    ids=repr,
)
def test_the_dtype_is_the_one_that_jax_calculates_with(leaf: Any) -> None:
    assert dtype_of(leaf) == jnp.result_type(leaf)


def test_another_dtype_is_made_only_where_there_is_another() -> None:
    array, weak = jnp.ones(2), jnp.asarray(1.0)
    assert with_dtype(array, jnp.float32) is array
    assert with_dtype(array, jnp.float16).dtype == jnp.float16
    assert weak.weak_type and not with_dtype(weak, jnp.float32).weak_type
    assert with_dtype(0.5, jnp.bfloat16).dtype == jnp.bfloat16
    assert with_dtype(1 + 2j, jnp.float32) == 1


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_a_number_takes_the_dtype_of_what_it_is_multiplied_with(dtype: Any) -> None:
    rate, array = 1.0 + 2**-8, jnp.asarray([256.0, 384.0], dtype)
    number = like_a_python_number(jnp.float32(rate))
    assert number.dtype == jnp.float32 and is_like_a_python_number(number)
    assert not is_like_a_python_number(jnp.float32(rate))
    assert like_a_python_number(jnp.int32(3)).dtype == jnp.int32
    for product in (number * array, jax.jit(jnp.multiply)(number, array)):
        np.testing.assert_array_equal(product, rate * array)
        assert product.dtype == dtype

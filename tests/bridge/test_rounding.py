"""A function that is compiled such that each operation rounds as it does by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jax import lax

from flaxoptim_compat.bridge.rounding import ZERO, rounding_each
from tests.support.half_precision import skip_unless_rounded
from tests.support.side_by_side import assert_same

RNG = np.random.default_rng(0)


def numbers(*shape: int, dtype: Any = jnp.float32) -> jax.Array:
    return jnp.asarray(RNG.normal(size=shape), dtype)


def both(function: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """Compiled with every rounding kept, and operation by operation."""
    return jax.jit(rounding_each(function))(ZERO, *args), function(*args)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "a product and a sum": lambda x, y: 0.9 * x + 0.1 * y,
    "a product behind a reshape": lambda x, y: (x * y).reshape(-1) + y.reshape(-1),
    "a chosen product": lambda x, y: jnp.where(x > 0, x * y, y) + x,
    "a square and a sum": lambda x, y: jnp.square(x) + y**2,
    "a constant factor and a divisor": lambda x, y: x * 0.9 / 0.001 + y,
    "constant factors": lambda x, y: 0.3 * (0.7 * x) + (y + 0.1) + 0.2,
    "a constant divisor": lambda x, y: x / 3.0 + y / 7.0,
    "a divisor of zero": lambda x, y: y / jnp.maximum(1.0, jnp.abs(x) / 0.0),
    "quotients": lambda x, y: x / y / (x / (y + 1.5)),
    "a root below": lambda x, y: x / (jnp.sqrt(y * y + 0.25) + 1e-8) / jnp.sqrt(y * y + 2.0),
    "powers": lambda x, y: (x * x + 0.1) ** 0.3 * jnp.abs(y) ** -0.5,
    "functions": lambda x, y: jnp.exp(x * 0.1) * jnp.log(y * y + 1.0) + jnp.tanh(x),
    "sums": lambda x, y: jnp.sum(x * y, axis=0) / jnp.sum(y * y),
    "means": lambda x, y: jnp.mean(x * x, axis=0, keepdims=True) * jnp.mean(y * y),
    "norms": lambda x, y: x / jnp.linalg.norm(x) + 0.5 * y / jnp.linalg.norm(y, axis=0),
    "products of matrices": lambda x, y: 0.1 * (x @ y.T) + 0.9 * (y @ x.T),
    "a loop": lambda x, y: lax.fori_loop(0, 3, lambda _, z: z * x + y, x * 0.1) * 0.3 + y,
    "what is chosen by a branch": lambda x, y: lax.cond(
        True, lambda z: z * 0.3 + x, lambda z: z, x * y + 0.1
    ),
    "integers": lambda x, y: (jnp.floor(x).astype(jnp.int32) * 3 + 1, y),
    "what is handed through": lambda x, y: (x, {"y": [y]}),
}


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bits_are_those_of_each_operation(name: str, dtype: Any) -> None:
    args = numbers(33, 129, dtype=dtype), numbers(33, 129, dtype=dtype)
    skip_unless_rounded(args)
    assert_same(*both(FUNCTIONS[name], *args))


def test_without_it_they_are_others(request: pytest.FixtureRequest) -> None:
    """Or the tests above would say nothing."""
    if not request.config.getoption("optimized"):
        pytest.skip("only --optimized compiles with what rounds a product and a sum together")
    args = numbers(33, 129), numbers(33, 129)
    function = FUNCTIONS["a product and a sum"]
    assert (jax.jit(function)(*args) != function(*args)).any()


# Each example compiles, and a smaller one of those that fail says little more.
@settings(deadline=None, max_examples=20, derandomize=True, phases=[Phase.generate])
@given(st.data())
def test_any_arithmetic(data: st.DataObject) -> None:
    """Drawn: thirty operations on what there is so far."""
    unary: list[Any] = [jnp.sqrt, jnp.square, jnp.negative, jnp.mean, jnp.exp, lax.rsqrt]
    binary: list[Any] = [jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum]
    operations = st.integers(0, len(unary) + len(binary) - 1)
    operands = st.one_of(st.integers(0, 40), st.floats(0.1, 3.0))
    drawn = st.tuples(operations, st.integers(0, 40), operands)
    made = data.draw(st.lists(drawn, min_size=10, max_size=30))

    def function(x: jax.Array, y: jax.Array) -> Any:
        found: list[Any] = [x, y]
        for operation, first, second in made:
            a = found[first % len(found)]
            b = found[second % len(found)] if isinstance(second, int) else second
            if operation < len(unary):
                # Positive, so that nothing becomes NaN.
                found.append(unary[operation](jnp.abs(a) % 3.0 + 0.1))
            else:
                found.append(binary[operation - len(unary)](a, jnp.abs(b) + 0.5))
        return found[-1]

    assert_same(*both(function, numbers(7, 19), numbers(7, 19)))


def test_what_is_handed_on_is_not_hidden_again() -> None:
    """Where a processor has instructions for float16, the two would cancel each other."""
    args = numbers(3, 4, dtype=jnp.float16), numbers(3, 4, dtype=jnp.float16)
    function = rounding_each(FUNCTIONS["a product behind a reshape"])
    names = [each.primitive.name for each in jax.make_jaxpr(function)(ZERO, *args).eqns]
    assert names.count("xor") == 1


OF_COMPLEX: dict[str, Callable[..., Any]] = {
    "a product and a sum": lambda x, y: x * y + x,
    "a number and a sum": lambda x, y: 0.9 * x + 0.1 * y,
    "a difference taken back": lambda x, y: y + (x * y - y),
    "constant terms": lambda x, y: (x + 0.1) + (0.2 + y),
    "a constant divisor": lambda x, y: x / 3.0 + y,
    "the square of a size": lambda x, y: 0.001 * ((x - y).conj() * (x - y)).real + 0.9 * x.imag,
    "a size below": lambda x, y: x / (jnp.sqrt(jnp.abs(y) ** 2 + 0.25) + 1e-8),
    "functions": lambda x, y: jnp.exp(0.1 * x) * lax.rsqrt(y) + y**2,
    "sums": lambda x, y: jnp.sum(x * y, axis=0) / jnp.linalg.norm(y),
}


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_so_are_those_of_complex_numbers(name: str) -> None:
    x, y = (lax.complex(numbers(33, 129), numbers(33, 129)) for _ in range(2))
    assert_same(*both(OF_COMPLEX[name], x, y))

"""A function is traced once for equal shapes, and not compiled apart."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from flaxoptim_compat.transforms.inlined import inlined


def test_traced_once_and_in_the_equations_of_the_caller() -> None:
    calls = []

    @inlined
    def square(array: jax.Array) -> jax.Array:
        """The square."""
        calls.append(array.shape)
        return array * array

    shapes = [jnp.ones(2), jnp.ones(2), jnp.ones(2), jnp.ones(3)]
    jaxpr = jax.make_jaxpr(lambda arrays: [square(each) for each in arrays])(shapes)
    assert calls == [(2,), (3,)]
    # Since jax 0.12 such a function becomes a part of its caller when that is compiled.
    inner = [
        each.params["jaxpr"].eqns[0] if each.params.get("inline") else each for each in jaxpr.eqns
    ]
    assert [each.primitive.name for each in inner] == ["mul"] * 4
    assert square.__doc__ == "The square."


def test_on_arrays_it_runs_as_it_stands() -> None:
    seen = []

    @inlined
    def noted(array: jax.Array) -> jax.Array:
        seen.append(isinstance(array, jax.core.Tracer))
        return array

    noted(jnp.ones(2))
    noted(jnp.ones(2))
    assert seen == [False, False]

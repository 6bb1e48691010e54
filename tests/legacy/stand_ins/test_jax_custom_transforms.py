"""Functions with derivatives of their own, in both modes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_functions


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

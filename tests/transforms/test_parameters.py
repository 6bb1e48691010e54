"""What cannot do without the parameters says so, with its name."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

from flaxoptim_compat import transforms

NEED_THEM = {
    "scale_by_lamb_trust_ratio": transforms.scale_by_lamb_trust_ratio(),
    "scale_by_lars_rate": transforms.scale_by_lars_rate(0.1),
    "scale_by_rate_and_parameter_rms": transforms.scale_by_rate_and_parameter_rms(0.1),
    "weight_norm": transforms.weight_norm(optax.identity()),
}


@pytest.mark.parametrize("name", NEED_THEM)
def test_the_message_names_the_transformation(name: str) -> None:
    tx: Any = NEED_THEM[name]
    with pytest.raises(ValueError, match=rf"^{name} needs the parameters: call `tx\.update\("):
        tx.update(jnp.ones(2), tx.init(jnp.ones(2)))


@pytest.mark.parametrize(
    "tx",
    [
        transforms.in_float32(optax.scale_by_factored_rms()),
        transforms.scale_by_rate_and_parameter_rms(0.1),
        transforms.scale_by_lamb_trust_ratio(),
        transforms.scale_by_lars_rate(0.1),
        transforms.weight_norm(optax.trace(0.9)),
    ],
)
def test_a_number_of_python_is_a_parameter_as_any_other(tx: Any) -> None:
    params = {"a": 0.5, "w": jnp.ones((2, 2))}
    grads = {"a": jnp.float32(1), "w": jnp.ones((2, 2))}
    arrays = jax.tree.map(jnp.asarray, params)
    updates = [tx.update(grads, tx.init(each), each)[0] for each in (params, arrays)]
    assert jax.tree.all(jax.tree.map(jnp.array_equal, *updates))

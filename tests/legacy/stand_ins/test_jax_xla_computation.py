"""What a function is compiled from, and what XLA says that it costs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.era import xla_bridge, xla_client
from flaxoptim_compat.legacy.stand_ins import jax_functions
from tests.support.vectors import X


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

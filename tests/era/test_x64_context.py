"""64 bits for a block or a function."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.era import x64_context


@pytest.mark.skipif(not hasattr(jax, "enable_x64"), reason="jax.experimental.enable_x64 is there")
def test_64_bit_numbers() -> None:
    @x64_context.enable_x64()
    def wide() -> Any:
        with x64_context.disable_x64():
            narrow = jnp.ones(1).dtype
        return jnp.ones(1).dtype, narrow

    assert wide() == (jnp.float64, jnp.float32)
    with x64_context.enable_x64(False):
        assert jnp.ones(1).dtype == jnp.float32

"""What several tests of the optimizers need."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture
def wide_numbers(dtype: str) -> Iterator[None]:
    """64-bit numbers for the parameters that have them."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", dtype == "float64")
    yield
    jax.config.update("jax_enable_x64", before)

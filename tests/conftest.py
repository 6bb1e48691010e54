"""Fixtures of all tests, and the machine they see: eight CPU devices."""

from __future__ import annotations

import os

# Before jax starts: several devices for pmap, meshes and leaves on different devices.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from collections.abc import Iterator
from typing import Any

import jax
import pytest

from tests.support.oracle.cache import OracleUnavailable


@pytest.fixture(scope="session")
def genuine() -> Any:
    """The genuine ``flax.optim`` of Flax 0.5.3, running on today's jax."""
    from tests.support.oracle.in_process import genuine_optim

    try:
        return genuine_optim()
    except OracleUnavailable as error:
        return _unavailable(error)


@pytest.fixture(scope="session")
def old_environment() -> Any:
    """The Python of an environment with Flax 0.5.3 and jax 0.4.13."""
    from tests.support.oracle.environments import old_environment

    try:
        return old_environment()
    except OracleUnavailable as error:
        return _unavailable(error)


def _unavailable(error: Exception) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"the oracle must run in CI: {error}")
    pytest.skip(f"the oracle cannot be had: {error}")


@pytest.fixture
def x64() -> Iterator[None]:
    """Run a test with 64-bit numbers."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)

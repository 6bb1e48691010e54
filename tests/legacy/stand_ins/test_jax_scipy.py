"""Functions that ``jax.scipy`` had, with numbers that are written out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_functions


def test_sph_harm() -> None:
    if not hasattr(jax.scipy.special, "sph_harm_y"):
        pytest.skip("this jax still has sph_harm itself")
    theta, phi = jnp.asarray([0.3, 2.0]), jnp.asarray([0.7, 1.1])
    order, degree = jnp.asarray([1, -1]), jnp.asarray([2, 1])
    # Written out: Y of order 1 and degree 2, and of order -1 and degree 1.
    first = -np.sqrt(15 / (8 * np.pi)) * np.sin(0.7) * np.cos(0.7) * np.exp(0.3j)
    second = np.sqrt(3 / (8 * np.pi)) * np.sin(1.1) * np.exp(-2.0j)
    found = jax_functions.sph_harm(order, degree, theta, phi, n_max=2)
    np.testing.assert_allclose(np.asarray(found), [first, second], rtol=1e-5)

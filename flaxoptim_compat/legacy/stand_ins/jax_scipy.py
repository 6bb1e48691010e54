"""``jax.scipy.special.sph_harm``, whose successor has its arguments in another order."""

from __future__ import annotations

from typing import Any

import jax


def sph_harm(m: Any, n: Any, theta: Any, phi: Any, n_max: int | None = None) -> jax.Array:
    """Compute spherical harmonics.

    Args:
      m: the orders.
      n: the degrees.
      theta: the azimuths; the successor gives this name to the polar angles.
      phi: the polar angles.
      n_max: the largest degree, needed under ``jit``.
    """
    return jax.scipy.special.sph_harm_y(n, m, phi, theta, n_max=n_max)

"""The small array that stand-ins are tried on."""

from __future__ import annotations

import jax.numpy as jnp

X = jnp.linspace(0.5, 2.0, 4)

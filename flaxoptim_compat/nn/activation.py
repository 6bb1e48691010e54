"""The activation functions of ``flax.nn``, which are jax's."""

from __future__ import annotations

from jax.nn import *  # noqa: F403
from jax.nn import standardize as normalize  # renamed in jax 0.2.17  # noqa: F401
from jax.numpy import tanh as tanh

"""The initializers of ``flax.nn``, which are those of jax."""

from jax.nn.initializers import *  # noqa: F403

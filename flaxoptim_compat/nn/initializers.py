"""The initializers of ``flax.nn``, which are jax's."""

from jax.nn.initializers import *  # noqa: F403

"""``jax.experimental.x64_context``: 64-bit numbers in a block, or without."""

from flaxoptim_compat.legacy.stand_ins.jax_x64 import *  # noqa: F403

"""``jax.util``: the small functions that programs took from jax."""

from flaxoptim_compat.legacy.stand_ins.jax_util import *  # noqa: F403

"""``flax.nn``: what Linen has of it, under the same names."""

from flaxoptim_compat.legacy.stand_ins.flax_nn import *  # noqa: F403
from flaxoptim_compat.legacy.stand_ins.flax_nn import __getattr__ as __getattr__

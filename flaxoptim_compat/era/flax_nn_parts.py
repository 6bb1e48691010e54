"""The modules of ``flax.nn`` of which next to nothing is left, such as ``flax.nn.linear``."""

from flaxoptim_compat.legacy.stand_ins.flax_nn_parts import *  # noqa: F403
from flaxoptim_compat.legacy.stand_ins.flax_nn_parts import __getattr__ as __getattr__

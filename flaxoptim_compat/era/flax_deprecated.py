"""``flax.deprecated``: the package that had ``flax.nn`` at last."""

from flaxoptim_compat.legacy.stand_ins.flax_nn_deprecated import *  # noqa: F403

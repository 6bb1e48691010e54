"""``jax.experimental.global_device_array``: a class without instances."""

from flaxoptim_compat.legacy.stand_ins.jax_global_device_array import *  # noqa: F403

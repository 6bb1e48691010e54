"""``jax.lib.xla_bridge``: backends, devices and processes."""

from flaxoptim_compat.legacy.stand_ins.jax_xla_bridge import *  # noqa: F403
from flaxoptim_compat.legacy.stand_ins.jax_xla_bridge import __getattr__ as __getattr__

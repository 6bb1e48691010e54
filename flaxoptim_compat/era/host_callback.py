"""``jax.experimental.host_callback``: functions of the host, called from compiled code."""

from flaxoptim_compat.legacy.stand_ins.jax_host_callback import *  # noqa: F403

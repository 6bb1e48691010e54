"""``jax.lib.xla_client``, which was that of jaxlib."""

from flaxoptim_compat.legacy.stand_ins.jax_xla_client import *  # noqa: F403
from flaxoptim_compat.legacy.stand_ins.jax_xla_client import __getattr__ as __getattr__

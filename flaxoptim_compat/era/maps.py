"""``jax.experimental.maps`` without ``xmap``: meshes of devices."""

from flaxoptim_compat.legacy.stand_ins.jax_maps import *  # noqa: F403

"""``jaxlib.xla_extension``: types and errors of jaxlib."""

from flaxoptim_compat.legacy.stand_ins.jaxlib_xla_extension import *  # noqa: F403
from flaxoptim_compat.legacy.stand_ins.jaxlib_xla_extension import __getattr__ as __getattr__

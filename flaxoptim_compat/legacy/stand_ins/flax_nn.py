"""What the first version wrote for ``flax.nn``, into programs that may still import it."""

from flaxoptim_compat.nn import *  # noqa: F403

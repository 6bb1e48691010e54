"""The genuine ``flax.optim`` 0.5.3 running in this process, on the installed jax and flax."""

from __future__ import annotations

import functools
from types import ModuleType

from .private_package import load_private_package, load_quiet_copy
from .wheel import genuine_wheel


@functools.cache
def genuine_optim() -> ModuleType:
    """Return the genuine ``flax.optim`` 0.5.3, loaded as ``genuine_flax.optim``."""
    from flax import core, jax_utils, serialization, struct, traverse_util

    companions = {
        "core": core,
        "jax_utils": jax_utils,
        "serialization": serialization,
        "struct": struct,
        # Today's traversals warn whenever one is made, and warnings are errors in the tests.
        "traverse_util": load_quiet_copy(traverse_util),
    }
    return load_private_package(
        "genuine_flax.optim", genuine_wheel() / "flax" / "optim", companions
    )

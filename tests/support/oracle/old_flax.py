"""Import this first in scripts of the old environment: it makes flax 0.5.3 importable there."""

from __future__ import annotations

from types import ModuleType

import jax
import jax.interpreters.xla

# flax 0.5.3 recognises arrays by this name, which jax 0.4.13 no longer has.
jax.interpreters.xla.DeviceArray = jax.Array  # type: ignore[attr-defined]


def genuine_optim() -> ModuleType:
    """Return ``flax.optim`` as installed here, without its deprecation warnings."""
    import warnings

    from flax import optim

    warnings.filterwarnings("ignore", message="Use `optax` instead of `flax.optim`")
    return optim

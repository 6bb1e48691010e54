"""The module ``flax.config``, whose name is that of the object today that has its settings."""

from __future__ import annotations

from typing import Any

from flax.configurations import config, static_bool_env

bool_env = static_bool_env
# What was asked for by it has long been the only way.
flax_lazy_rng = True


def __getattr__(name: str) -> Any:
    return getattr(config, name)

"""The module ``flax.config``; today an object of the same name has the settings."""

from __future__ import annotations

from typing import Any

from flax.configurations import config, static_bool_env

bool_env = static_bool_env
# Programs read this flag. Lazy keys have long been the only way.
flax_lazy_rng = True


def __getattr__(name: str) -> Any:
    return getattr(config, name)

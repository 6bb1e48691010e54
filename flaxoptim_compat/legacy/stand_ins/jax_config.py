"""The module ``jax.config``; today ``jax.config`` is the object that was in the module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

config = jax.config


# Settings that programs read, and that have long been the only way.
_ALWAYS_ON = ("jax_experimental_name_stack", "jax_omnistaging", "omnistaging_enabled")


def enable_omnistaging() -> None:
    """Do nothing: omnistaging cannot be switched off any more."""


def accept_omnistaging() -> Callable[[], None]:
    """Give ``jax.config`` its omnistaging names back; returns a function that undoes this."""
    attributes: dict[str, Any] = vars(config)
    if hasattr(config, "enable_omnistaging"):
        return lambda: None
    attributes["enable_omnistaging"] = enable_omnistaging
    added = [name for name in _ALWAYS_ON if not hasattr(config, name)]
    attributes.update(dict.fromkeys(added, True))

    def undo() -> None:
        if attributes.get("enable_omnistaging") is enable_omnistaging:
            for name in ("enable_omnistaging", *added):
                del attributes[name]

    return undo

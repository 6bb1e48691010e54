"""The module ``jax.config``, whose name is that of the object today that it had in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

config = jax.config


def enable_omnistaging() -> None:
    """Do nothing: what this method of the object switched on cannot be switched off any more."""


def accept_omnistaging() -> Callable[[], None]:
    """Give the object its names for omnistaging back, and return what takes them away again."""
    attributes: dict[str, Any] = vars(config)
    if hasattr(config, "enable_omnistaging"):
        return lambda: None
    attributes["enable_omnistaging"] = enable_omnistaging
    attributes["omnistaging_enabled"] = True

    def undo() -> None:
        if attributes.get("enable_omnistaging") is enable_omnistaging:
            del attributes["enable_omnistaging"], attributes["omnistaging_enabled"]

    return undo

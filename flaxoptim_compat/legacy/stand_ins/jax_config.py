"""The module ``jax.config``, whose name is that of the object today that it had in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

config = jax.config


# What programs ask for that has long been the only way.
_ALWAYS_ON = ("jax_experimental_name_stack", "jax_omnistaging", "omnistaging_enabled")


def enable_omnistaging() -> None:
    """Do nothing: what this method of the object switched on cannot be switched off any more."""


def accept_omnistaging() -> Callable[[], None]:
    """Give the object back what was switched on by it, and return what takes that away again."""
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

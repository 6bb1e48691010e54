"""The module ``jax.config``; today ``jax.config`` is the object that was in the module."""

from __future__ import annotations

from contextlib import ExitStack

import jax

from flaxoptim_compat.legacy.replacing import replace

config = jax.config


# Settings that programs read, and that have long been the only way.
_ALWAYS_ON = ("jax_experimental_name_stack", "jax_omnistaging", "omnistaging_enabled")


def enable_omnistaging() -> None:
    """Do nothing: omnistaging cannot be switched off any more."""


def accept_omnistaging(undo: ExitStack) -> None:
    """Give ``jax.config`` its omnistaging names back, until a stack is closed."""
    names = {"enable_omnistaging": enable_omnistaging, **dict.fromkeys(_ALWAYS_ON, True)}
    for name, value in names.items():
        if not hasattr(config, name):
            replace(config, name, value, undo)

"""Replaces attributes of modules and classes by functions that look the same, and undoes this."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

_NOTHING = object()


def replace(holder: Any, attribute: str, value: Any, undo: ExitStack) -> None:
    """Set an attribute of a module or a class, until a stack is closed.

    The attribute stays as it is if other code has set it since.

    Args:
      holder: the module or the class.
      attribute: the name of the attribute.
      value: its new value.
      undo: the stack.
    """
    before = vars(holder).get(attribute, _NOTHING)
    setattr(holder, attribute, value)

    @undo.callback
    def restore() -> None:
        if vars(holder).get(attribute) is not value:
            return
        if before is _NOTHING:
            delattr(holder, attribute)
        else:
            setattr(holder, attribute, before)


def look_like(original: Callable[..., Any], replacement: Callable[..., Any], module: str) -> None:
    """Give a replacement the attributes of the original that ``functools.wraps`` leaves out.

    Args:
      original: the function of today.
      replacement: the function in its place.
      module: the module in which programs look the function up.
    """
    # A jitted function has more methods, such as lower.
    for attribute in set(dir(original)) - set(dir(replacement)):
        setattr(replacement, attribute, getattr(original, attribute))
    # Pickle looks a function up here. The module of the original may be a private one of jax.
    replacement.__module__ = module

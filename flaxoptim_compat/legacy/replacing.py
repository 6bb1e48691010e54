"""Replaces attributes of modules and classes by functions that look the same, and undoes this."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

_NOTHING = object()


def replace(holder: Any, attribute: str, value: Any) -> Callable[[], None]:
    """Set an attribute of a module or a class; returns a function that undoes this.

    That function does nothing if other code has set the attribute since.

    Args:
      holder: the module or the class.
      attribute: the name of the attribute.
      value: its new value.
    """
    before = vars(holder).get(attribute, _NOTHING)
    setattr(holder, attribute, value)

    def undo() -> None:
        if vars(holder).get(attribute) is not value:
            return
        if before is _NOTHING:
            delattr(holder, attribute)
        else:
            setattr(holder, attribute, before)

    return undo


def all_of(undo: Iterable[Callable[[], None]]) -> Callable[[], None]:
    """One function that calls all of these functions."""

    def undo_all() -> None:
        for function in undo:
            function()

    return undo_all


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

"""Functions in the place of others: put there, looking like them, and taken away again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

_NOTHING = object()


def replace(holder: Any, attribute: str, value: Any) -> Callable[[], None]:
    """Set an attribute of a module or a class, and return what undoes that.

    It undoes nothing where someone else has set the attribute since.

    Args:
      holder: the module or the class.
      attribute: its name there.
      value: what to set.
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


def look_like(original: Callable[..., Any], stands_for: Callable[..., Any], module: str) -> None:
    """Give a function what ``functools.wraps`` leaves out of the one that it stands for.

    Args:
      original: the function of today.
      stands_for: the one in its place.
      module: where programs look it up.
    """
    # A jitted function has methods besides, such as lower.
    for attribute in set(dir(original)) - set(dir(stands_for)):
        setattr(stands_for, attribute, getattr(original, attribute))
    # By this it is pickled, and it leads to it: some say where jax has them itself.
    stands_for.__module__ = module

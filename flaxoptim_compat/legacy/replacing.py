"""Putting something in the place of an attribute, and taking it away again."""

from __future__ import annotations

from collections.abc import Callable
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

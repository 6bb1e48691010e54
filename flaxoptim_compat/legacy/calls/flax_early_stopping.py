"""The pair that ``EarlyStopping.update`` returned before Flax 0.7.5, in the one object of today.

Flax has kept its second half, and put the first one into it. So the object is what it is, and can
be taken apart too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flax.training.early_stopping import EarlyStopping


def not_a_pair() -> list[type]:
    """The class, as long as its objects have no parts of their own."""
    has_parts = hasattr(EarlyStopping, "__iter__") or hasattr(EarlyStopping, "__getitem__")
    return [] if has_parts else [EarlyStopping]


def unpacked(self: EarlyStopping) -> Iterator[Any]:
    """Both halves: whether the metric has improved, and the object itself."""
    return iter(_pair(self))


def at(self: EarlyStopping, place: Any) -> Any:
    """One of the two halves, by its place."""
    return _pair(self)[place]


def _pair(stopping: EarlyStopping) -> tuple[bool, EarlyStopping]:
    return stopping.has_improved, stopping

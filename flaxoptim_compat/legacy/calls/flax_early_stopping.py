"""The pair that ``EarlyStopping.update`` returned before Flax 0.7.5, in today's single object.

Flax returns the second half of the pair today, with the first half as an attribute. Here the object
can also be unpacked like the pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flax.training.early_stopping import EarlyStopping


def not_a_pair() -> list[type]:
    """The class ``EarlyStopping``, unless its objects can be unpacked already."""
    has_parts = hasattr(EarlyStopping, "__iter__") or hasattr(EarlyStopping, "__getitem__")
    return [] if has_parts else [EarlyStopping]


def unpacked(self: EarlyStopping) -> Iterator[Any]:
    """Both halves: whether the metric has improved, and the object itself."""
    return iter(_pair(self))


def at(self: EarlyStopping, place: Any) -> Any:
    """One half of the pair, by its index."""
    return _pair(self)[place]


def _pair(stopping: EarlyStopping) -> tuple[bool, EarlyStopping]:
    return stopping.has_improved, stopping

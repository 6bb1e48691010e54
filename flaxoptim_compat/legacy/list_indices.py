"""Lists as indices of arrays, which jax took until 0.2.6."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.lists import as_array
from flaxoptim_compat.legacy.replacing import replace
from flaxoptim_compat.versions.of_jax import array_types, leave_out_of_sources

# So that what jax says of an operation names the line of the program.
leave_out_of_sources(__file__)


def accept_list_indices() -> Callable[[], None]:
    """Let arrays take lists as indices, and their ``at`` too, and return what ends that."""
    arrays: list[Any] = array_types()
    # What makes ``x.at`` of an array is the class of it.
    makers = [each.at.fget for each in arrays]
    undo = [
        replace(each, "__getitem__", _taking_lists(vars(each)["__getitem__"]))
        for each in (*arrays, jax.core.Tracer, *makers)
        if "__getitem__" in vars(each)
    ]

    def undo_all() -> None:
        for each in undo:
            each()

    return undo_all


def _taking_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def getitem(self: Any, index: Any) -> Any:
        if not isinstance(index, list):
            return original(self, index)
        several = any(map(_belongs_to_a_tuple, index))
        instead = "x[tuple(index)]" if several else "x[jax.numpy.asarray(index)]"
        notice = f"An index that is a list is an error today. Write {instead} instead."
        usage.record("jax.Array.__getitem__()", notice)
        # Of an empty one the array has no integers.
        return original(self, tuple(index) if several else (as_array(index) if index else index,))

    return getitem


def _belongs_to_a_tuple(index: Any) -> bool:
    """Whether a list with this in it stood for a tuple: whatever is no single number."""
    return (
        index is None
        or index is ...
        or isinstance(index, (Sequence, slice))
        or getattr(index, "ndim", 0) > 0
    )

"""The dtypes of arrays in checkpoints, from numpy and ml_dtypes, by their names."""

from __future__ import annotations

import functools
import math
from typing import Any

import ml_dtypes
import numpy as np

_OF_NUMPY = frozenset(
    ["bool", "float16", "float32", "float64", "float128", "complex64", "complex128", "complex256"]
    + [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
)
LARGEST_SIZE = 2**63 - 1
LARGEST_RANK = 32


@functools.lru_cache(maxsize=64)
def dtype_named(name: str) -> np.dtype[Any] | None:
    """The dtype with this name; None if arrays of numbers have no such dtype."""
    scalar_type = getattr(ml_dtypes, name, None)
    if isinstance(scalar_type, type) and issubclass(scalar_type, np.generic):
        return np.dtype(scalar_type)
    if name not in _OF_NUMPY:
        return None
    try:
        return np.dtype(name)
    except TypeError:  # float128 is not on every platform.
        return None


def is_number(dtype: np.dtype[Any]) -> bool:
    """True for a dtype of numbers, and not of objects, text, dates or records."""
    return dtype_named(dtype.name) is not None


def is_possible_shape(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """True if numpy can have an array of this shape and dtype; dimensions of zero count as one."""
    if len(shape) > LARGEST_RANK or min(shape, default=0) < 0:
        return False
    return math.prod([dtype.itemsize, *(max(length, 1) for length in shape)]) <= LARGEST_SIZE

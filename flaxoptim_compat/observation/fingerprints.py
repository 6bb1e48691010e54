"""Fingerprints of arrays: a few bytes that tell whether two arrays are equal, or how far apart."""

from __future__ import annotations

import base64
import math
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Fingerprint(NamedTuple):
    """The fingerprint of an array: its hash, and numbers by which to compare it.

    Args:
      digest: the hash of its bytes.
      dtype: the name of its dtype.
      shape: the shape of the array.
      numbers: the array itself in double precision, or its sketch.
      largest: its largest absolute value.
      path: the path of a moment in the state that has it.
    """

    digest: str
    dtype: str
    shape: tuple[int, ...]
    numbers: Array
    largest: float
    path: str = ""

    @property
    def per_number(self) -> int:
        """The number of elements in each sum; 1 if the numbers are the elements."""
        count = math.prod(self.shape) * (2 if self.dtype.startswith("complex") else 1)
        return max(1, -(-count // max(1, len(self.numbers))))

    @classmethod
    def of(cls, entries: list[Any], path: str = "") -> Fingerprint:
        """The fingerprint that ``record.fingerprint`` made; its numbers may be decoded already."""
        bits, dtype, shape, numbers, largest = entries
        if isinstance(numbers, str):
            numbers = np.frombuffer(base64.b64decode(numbers), np.float64)
        return cls(bits, dtype, tuple(shape), numbers, largest, path)

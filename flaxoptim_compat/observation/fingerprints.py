"""Fingerprints of arrays: a few bytes that tell whether two arrays are equal, or how far apart."""

from __future__ import annotations

import base64
import functools
import hashlib
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

# How many numbers stand for an array. A smaller one is kept as it is.
NUMBERS = 128
# So many elements have signs of their own; see ``sketch``.
_BLOCK = 1 << 16


def digest(array: Array) -> bytes:
    """The hash of the bytes of an array."""
    bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.sha1(bits.data, usedforsecurity=False).digest()[:8]


class Fingerprint(NamedTuple):
    """The fingerprint of an array: its hash, and numbers by which to compare it.

    Args:
      digest: the hash of its bytes.
      dtype: the name of its dtype.
      shape: the shape of the array.
      numbers: the array itself in double precision, or its sketch.
      largest: its largest absolute value.
    """

    digest: str
    dtype: str
    shape: tuple[int, ...]
    numbers: Array
    largest: float

    @property
    def per_number(self) -> int:
        """The number of elements in each sum; 1 if the numbers are the elements."""
        count = int(np.prod(self.shape)) * (2 if self.dtype.startswith("complex") else 1)
        return max(1, -(-count // NUMBERS))

    def as_json(self) -> list[Any]:
        """The fingerprint as a list, for a line of a record."""
        numbers = base64.b64encode(self.numbers.tobytes()).decode()
        return [self.digest, self.dtype, self.shape, numbers, self.largest]

    @classmethod
    def from_json(cls, entries: list[Any]) -> Fingerprint:
        """The fingerprint that ``as_json`` wrote."""
        bits, dtype, shape, numbers, largest = entries
        values = np.frombuffer(base64.b64decode(numbers), np.float64)
        return cls(bits, dtype, tuple(shape), values, largest)


def fingerprint(array: Array, bits: bytes) -> Fingerprint:
    """The fingerprint of an array, of which the hash is known."""
    numbers = sketch(array)
    parts = _blocks(array)
    largest = max(
        (float(max(_wide(each.max()), -_wide(each.min()))) for each in parts), default=0.0
    )
    return Fingerprint(bits.hex(), str(array.dtype), array.shape, numbers, largest)


def sketch(array: Array) -> Array:
    """The array itself if it has at most ``NUMBERS`` elements, else that many sums of elements.

    Each element goes into one sum, with a random sign that is always the same. Sums are linear, so
    the difference of two sketches is the sketch of the difference of the arrays. The square of one
    of its numbers is, on average over signs, the sum of the squared differences in that sum, since
    their products cancel. So two sketches tell to some per cent how far two arrays are apart,
    though neither array was kept. They never prove that two arrays are equal: the hash does.

    The sign of an element is that of its place in a block times that of its block, so that only one
    block of signs is in memory. A complex number counts as two.
    """
    parts = list(_blocks(array))
    if sum(part.size for part in parts) <= NUMBERS:
        return np.concatenate([_wide(part) for part in parts] or [np.zeros(0)])
    within, of_blocks = _signs(len(parts))
    sums = np.zeros(NUMBERS)
    for part, sign in zip(parts, of_blocks, strict=True):
        signed = _wide(part) * within[: part.size]
        padded = np.pad(signed, (0, -part.size % NUMBERS))
        with np.errstate(invalid="ignore"):  # infinities of both signs
            sums += sign * padded.reshape(-1, NUMBERS).sum(axis=0)
    return sums


def _blocks(array: Array) -> list[Array]:
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(f"f{flat.dtype.itemsize // 2}")
    return [flat[start : start + _BLOCK] for start in range(0, flat.size, _BLOCK)]


def _wide(part: Array) -> Array:
    return part.astype(np.float64)


@functools.lru_cache(maxsize=16)
def _signs(blocks: int) -> tuple[Array, Array]:
    draw = np.random.Generator(np.random.PCG64(20))
    within = draw.integers(0, 2, _BLOCK) * 2.0 - 1
    return within, draw.integers(0, 2, blocks) * 2.0 - 1

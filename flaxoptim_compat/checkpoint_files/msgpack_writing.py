"""Writing what flax.serialization would write, byte for byte, one array after the other."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from flaxoptim_compat.checkpoint_files import chunks
from flaxoptim_compat.checkpoint_files.leaves import pieces, values_of
from flaxoptim_compat.checkpoint_files.msgpack_reading import ARRAY, COMPLEX, SCALAR
from flaxoptim_compat.checkpoint_files.stored import (
    CheckpointError,
    StoredArray,
    StoredList,
    Tree,
)

# For each kind of value: how many fit into the first byte and that byte for none of them, then for
# each width of the length, in ascending order, the first byte.
_MAP = (16, 0x80, {2: 0xDE, 4: 0xDF})
_LIST = (16, 0x90, {2: 0xDC, 4: 0xDD})
_STRING = (32, 0xA0, {1: 0xD9, 2: 0xDA, 4: 0xDB})
_BINARY = (0, 0, {1: 0xC4, 2: 0xC5, 4: 0xC6})
_EXTENSION = (0, 0, {1: 0xC7, 2: 0xC8, 4: 0xC9})
_POSITIVE = (128, 0x00, {1: 0xCC, 2: 0xCD, 4: 0xCE, 8: 0xCF})
_NEGATIVE = {1: 0xD0, 2: 0xD1, 4: 0xD2, 8: 0xD3}
_FIXED_EXTENSIONS = {1: 0xD4, 2: 0xD5, 4: 0xD6, 8: 0xD7, 16: 0xD8}


def msgpack_pieces(tree: Tree, *, in_list: bool = False) -> Iterator[bytes | memoryview]:
    """The bytes of a msgpack file, piece by piece.

    Args:
      tree: a checked tree.
      in_list: whether it is part of a list, in which flax.serialization splits no arrays.

    Raises:
      CheckpointError: a number or an array is too large for msgpack, or cannot be read.
    """
    if isinstance(tree, StoredList):
        yield _sized(_LIST, len(tree))
        for item in tree.values():
            yield from msgpack_pieces(item, in_list=True)
    elif isinstance(tree, Mapping):
        yield _sized(_MAP, len(tree))
        for name, child in tree.items():
            yield _text(name)
            yield from msgpack_pieces(child, in_list=in_list)
    elif isinstance(tree, StoredArray):
        large = tree.nbytes > chunks.LARGEST_CHUNK and not tree.is_scalar and not in_list
        yield from (_in_chunks if large else _array)(tree)
    else:
        yield _scalar(tree)


def _scalar(value: Any) -> bytes:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bytes):
        return _sized(_BINARY, len(value)) + value
    if isinstance(value, complex):
        pair = _sized(_LIST, 2) + _scalar(value.real) + _scalar(value.imag)
        return _extension(COMPLEX, len(pair)) + pair
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    return b"\xc0" if value is None else _integer(value)


def _integer(value: int) -> bytes:
    if value >= 0:
        return _sized(_POSITIVE, value)
    if value >= -32:
        return struct.pack(">b", value)
    for width, first in _NEGATIVE.items():
        if value >= -(1 << 8 * width - 1):
            return bytes([first]) + value.to_bytes(width, "big", signed=True)
    raise CheckpointError(f"Nothing was written: msgpack has no integer as large as {value}.")


def _sized(kind: tuple[int, int, dict[int, int]], length: int) -> bytes:
    """How a value begins that has this length, or, being a positive integer, is it."""
    fitting, first, by_width = kind
    if length < fitting:
        return bytes([first + length])
    for width, first in by_width.items():
        if length < 1 << 8 * width:
            return bytes([first]) + length.to_bytes(width, "big")
    raise CheckpointError(f"Nothing was written: msgpack has no value as large as {length:,}.")


def _text(text: str) -> bytes:
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise CheckpointError(f"Nothing was written: {text!r} is not a text in UTF-8.") from error
    return _sized(_STRING, len(encoded)) + encoded


def _extension(kind: int, length: int) -> bytes:
    if length in _FIXED_EXTENSIONS:
        return bytes([_FIXED_EXTENSIONS[length], kind])
    return _sized(_EXTENSION, length) + bytes([kind])


def _array(array: StoredArray) -> Iterator[bytes | memoryview]:
    yield _head(array.shape, array, SCALAR if array.is_scalar else ARRAY)
    yield from pieces(values_of(array))


def _head(shape: tuple[int, ...], array: StoredArray, kind: int) -> bytes:
    """What comes before the values of an array."""
    size = math.prod(shape) * array.dtype.itemsize
    triple = (
        _sized(_LIST, 3)
        + _sized(_LIST, len(shape))
        + b"".join(map(_integer, shape))
        + _text(array.dtype.name)
        + _sized(_BINARY, size)
    )
    return _extension(kind, len(triple) + size) + triple


def _in_chunks(array: StoredArray) -> Iterator[bytes | memoryview]:
    lengths = chunks.lengths_of_chunks(math.prod(array.shape), array.dtype.itemsize)
    yield _sized(_MAP, 3) + _text(chunks.CHUNKED) + _scalar(True)
    yield _text("shape") + _sized(_MAP, len(array.shape))
    for number, length in enumerate(array.shape):
        yield _text(str(number)) + _integer(length)
    yield _text("chunks") + _sized(_MAP, len(lengths))
    values = values_of(array)
    begin = 0
    for number, length in enumerate(lengths):
        yield _text(str(number)) + _head((length,), array, ARRAY)
        yield from pieces(values, begin, begin + length)
        begin += length

"""Writes the same bytes as flax.serialization, one array after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgpack

from flaxoptim_compat.checkpoint_files import chunks
from flaxoptim_compat.checkpoint_files.leaves import pieces, values_of
from flaxoptim_compat.checkpoint_files.msgpack_reading import ARRAY, COMPLEX, SCALAR
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, StoredList, Tree

# {number of bytes of a length: the first byte of bytes or of an extension with such a length}
_BYTES = {1: 0xC4, 2: 0xC5, 4: 0xC6}
_EXTENSIONS = {1: 0xC7, 2: 0xC8, 4: 0xC9}
# {length: the first byte of an extension of this length}
_FIXED = {1: 0xD4, 2: 0xD5, 4: 0xD6, 8: 0xD7, 16: 0xD8}


def msgpack_pieces(tree: Tree, *, in_list: bool = False) -> Iterator[bytes | memoryview]:
    """The bytes of a msgpack file, piece by piece.

    Args:
      tree: a checked tree.
      in_list: whether the tree is part of a list, in which flax.serialization splits no arrays.

    Raises:
      CheckpointError: a number or an array is too large for msgpack, or cannot be read.
    """
    if isinstance(tree, StoredList):
        yield msgpack.Packer().pack_array_header(len(tree))
        for item in tree.values():
            yield from msgpack_pieces(item, in_list=True)
    elif isinstance(tree, Mapping):
        yield msgpack.Packer().pack_map_header(len(tree))
        for name, child in tree.items():
            yield _packed(name)
            yield from msgpack_pieces(child, in_list=in_list)
    elif isinstance(tree, StoredArray):
        large = tree.nbytes > chunks.LARGEST_CHUNK and not tree.is_scalar and not in_list
        yield from (_in_chunks if large else _array)(tree)
    else:
        yield _packed(tree)


def _packed(value: Any) -> bytes:
    """A value other than an array."""
    try:
        packed: bytes = msgpack.packb(value, default=_extension, strict_types=True)
    except (OverflowError, ValueError) as error:
        problem = f"msgpack cannot hold {value!r:.80}: {error}"
        raise CheckpointError(f"Nothing was written: {problem}. Change the value.") from error
    return packed


def _extension(value: complex) -> msgpack.ExtType:
    return msgpack.ExtType(COMPLEX, msgpack.packb((value.real, value.imag)))


def _array(array: StoredArray) -> Iterator[bytes | memoryview]:
    yield _head(array.shape, array, SCALAR if array.is_scalar else ARRAY)
    yield from pieces(values_of(array))


def _head(shape: tuple[int, ...], array: StoredArray, kind: int) -> bytes:
    """The bytes before the values of an array, because msgpack would copy the values in memory."""
    size = math.prod(shape) * array.dtype.itemsize
    triple: bytes = msgpack.packb((shape, array.dtype.name, None))[:-1] + _sized(_BYTES, size)
    length = len(triple) + size
    first = bytes([_FIXED[length]]) if length in _FIXED else _sized(_EXTENSIONS, length)
    return first + bytes([kind]) + triple


def _sized(first_bytes: dict[int, int], length: int) -> bytes:
    for width, first in first_bytes.items():
        if length < 1 << 8 * width:
            return bytes([first]) + length.to_bytes(width, "big")
    raise CheckpointError(
        f"Nothing was written: msgpack has no value as large as {length:,}. Write orbax instead."
    )


def _in_chunks(array: StoredArray) -> Iterator[bytes | memoryview]:
    longest, size = max(1, chunks.LARGEST_CHUNK // array.dtype.itemsize), math.prod(array.shape)
    lengths = [min(longest, size - begin) for begin in range(0, size, longest)]
    shape = {str(number): length for number, length in enumerate(array.shape)}
    # The package writes only the header of the map; the chunks follow below.
    packer = msgpack.Packer(autoreset=False)
    packer.pack_map_header(3)
    for value in (chunks.CHUNKED, True, "shape", shape, "chunks"):
        packer.pack(value)
    packer.pack_map_header(len(lengths))
    yield packer.bytes()
    values, begin = values_of(array), 0
    for number, length in enumerate(lengths):
        yield _packed(str(number)) + _head((length,), array, ARRAY)
        yield from pieces(values, begin, begin + length)
        begin += length

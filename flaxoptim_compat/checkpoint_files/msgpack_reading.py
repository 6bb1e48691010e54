"""Reading the msgpack files of flax.serialization, without reading their arrays.

Every length is compared with what is left of the file before anything is made of it. The values of
arrays are skipped: an array is where they begin, a shape and a dtype.
"""

from __future__ import annotations

import struct
from typing import Any, NoReturn

from flaxoptim_compat.checkpoint_files.chunks import CHUNKED, joined
from flaxoptim_compat.checkpoint_files.dtypes import dtype_named, is_possible_shape
from flaxoptim_compat.checkpoint_files.source import COPY_AGAIN, ArrayInFile, Source
from flaxoptim_compat.checkpoint_files.stored import (
    CheckpointError,
    StoredArray,
    StoredList,
    Tree,
)

# Real checkpoints nest about ten deep, and have some thousand entries. The limits keep a small
# file of empty maps from becoming a large tree.
DEEPEST = 200
MOST_ENTRIES = 1_000_000
ARRAY, COMPLEX, SCALAR = 1, 2, 3

_NUMBERS = {
    0xCA: ">f", 0xCB: ">d",
    0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
# The first byte of a value whose length follows, and how many bytes the length has.
_BINARIES = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_STRINGS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_LISTS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_FIXED_EXTENSIONS = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


def read_msgpack(source: Source) -> Tree:
    """The tree in a msgpack file.

    Args:
      source: the open file, which the arrays will be read from.

    Raises:
      CheckpointError: it is not such a file, or damaged.
    """
    return _Reader(source).root()


class _Reader:
    """Where in the file we are, and under which names.

    Args:
      source: the open file.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._offset = 0
        self._end = source.size
        self._names: list[str] = []
        self._entries = 0

    def root(self) -> Tree:
        if not self._end:
            raise CheckpointError(f"{self._source.path} is empty.{COPY_AGAIN}")
        self._source.file.seek(0)
        tree = self._value()
        if self._offset != self._end:
            self._fail(f"{self._end - self._offset:,} more bytes after the end of the data")
        return tree

    def _fail(self, problem: str) -> NoReturn:
        where = f", under {'/'.join(self._names)!r}" if self._names else ""
        raise CheckpointError(
            f"{self._source.path} is not a msgpack checkpoint, or damaged: at byte"
            f" {self._offset:,}{where}: {problem}.{COPY_AGAIN}"
        )

    def _take(self, size: int) -> bytes:
        self._expect(size)
        taken = self._source.file.read(size)
        if len(taken) < size:
            self._fail("the file has become shorter while it was read")
        self._offset += size
        return taken

    def _expect(self, size: int) -> None:
        if size > self._end - self._offset:
            self._fail(f"{size:,} bytes should follow, but only {self._end - self._offset:,} do")

    def _length(self, width: int) -> int:
        return int.from_bytes(self._take(width), "big")

    def _value(self) -> Tree:
        first = self._take(1)[0]
        if (number := self._number(first)) is not None:
            return number
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if (length := self._length_of_string(first)) is not None:
            return self._text(length)
        if first in _BINARIES:
            return self._take(self._length(_BINARIES[first]))
        if first < 0x90 or first in _MAPS:
            return self._map(first & 0x0F if first < 0x90 else self._length(_MAPS[first]))
        if (length := self._length_of_list(first)) is not None:
            return self._list(length)
        if first in _FIXED_EXTENSIONS:
            return self._extension(_FIXED_EXTENSIONS[first])
        if first in _EXTENSIONS:
            return self._extension(self._length(_EXTENSIONS[first]))
        self._fail(f"no value begins with the byte {first:#x}")

    def _number(self, first: int) -> int | float | None:
        """The number that begins with this byte, or None if another value does."""
        if first < 0x80:
            return first
        if first >= 0xE0:
            return first - 0x100
        if first not in _NUMBERS:
            return None
        number: int | float
        (number,) = struct.unpack(_NUMBERS[first], self._take(struct.calcsize(_NUMBERS[first])))
        return number

    def _length_of_string(self, first: int) -> int | None:
        if 0xA0 <= first < 0xC0:
            return first & 0x1F
        return self._length(_STRINGS[first]) if first in _STRINGS else None

    def _length_of_list(self, first: int) -> int | None:
        if 0x90 <= first < 0xA0:
            return first & 0x0F
        return self._length(_LISTS[first]) if first in _LISTS else None

    def _text(self, length: int) -> str:
        encoded = self._take(length)
        try:
            return encoded.decode()
        except UnicodeDecodeError:
            self._fail("a text that is not UTF-8")

    def _container(self, length: int, smallest: int) -> None:
        """Check a container before its entries are read, each of at least ``smallest`` bytes."""
        self._expect(length * smallest)
        self._entries += length + 1
        if self._entries > MOST_ENTRIES:
            self._fail(f"more than {MOST_ENTRIES:,} entries, which no checkpoint has")
        if len(self._names) >= DEEPEST:
            self._fail(f"more than {DEEPEST} levels of nesting, which no checkpoint has")

    def _map(self, length: int) -> Tree:
        self._container(length, 2)
        entries: dict[str, Tree] = {}
        for _ in range(length):
            key_length = self._length_of_string(self._take(1)[0])
            if key_length is None:
                self._fail("the name of an entry is not a text")
            name = self._text(key_length)
            if name in entries:
                self._fail(f"a second entry {name!r}")
            self._names.append(name)
            entries[name] = self._value()
            self._names.pop()
        return self._joined(entries) if CHUNKED in entries else entries

    def _joined(self, entries: dict[str, Tree]) -> StoredArray:
        try:
            return joined(entries, self._source.path)
        except ValueError as error:
            self._fail(str(error))

    def _list(self, length: int) -> Tree:
        self._container(length, 1)
        items: list[Tree] = []
        for number in range(length):
            self._names.append(str(number))
            items.append(self._value())
            self._names.pop()
        return StoredList(items)

    def _extension(self, length: int) -> Tree:
        kind = struct.unpack(">b", self._take(1))[0]
        self._expect(length)
        outer_end, self._end = self._end, self._offset + length
        if kind in (ARRAY, SCALAR):
            value: Tree = self._array(is_scalar=kind == SCALAR)
        elif kind == COMPLEX:
            value = self._complex()
        else:
            self._fail(f"an extension of type {kind}, which Flax does not write")
        if self._offset != self._end:
            self._fail(f"{self._end - self._offset:,} more bytes after the end of a value")
        self._end = outer_end
        return value

    def _array(self, *, is_scalar: bool) -> ArrayInFile:
        if self._length_of_list(self._take(1)[0]) != 3:
            self._fail("an array is not a triple of shape, dtype and values")
        shape = tuple(self._integers())
        name = self._take(self._bytes_of_any_kind("the dtype of an array"))
        dtype = dtype_named(name.decode(errors="replace")) if len(name) < 64 else None
        if dtype is None:
            self._fail("an array of an unknown dtype")
        if not is_possible_shape(shape, dtype) or (is_scalar and shape):
            self._fail(f"an array of the impossible shape {shape}")
        length = self._bytes_of_any_kind("the values of an array")
        offset = self._offset
        array = ArrayInFile(self._source, offset, shape, dtype, is_scalar=is_scalar)
        if length != array.nbytes:
            self._fail(f"{length:,} bytes of values for shape {shape} and dtype {dtype.name}")
        self._expect(length)
        self._offset = self._source.file.seek(offset + length)
        return array

    def _integers(self) -> list[Any]:
        length = self._length_of_list(self._take(1)[0])
        if length is None:
            self._fail("the shape of an array is not a list")
        self._expect(length)
        if length > 100:
            self._fail(f"an array of {length:,} dimensions")
        numbers = [self._plain_number() for _ in range(length)]
        if not all(isinstance(number, int) for number in numbers):
            self._fail("the shape of an array is not made of integers")
        return numbers

    def _plain_number(self) -> int | float:
        number = self._number(self._take(1)[0])
        if number is None:
            self._fail("a number was expected")
        return number

    def _bytes_of_any_kind(self, what: str) -> int:
        """The length of a text or binary, of which flax.serialization takes either."""
        first = self._take(1)[0]
        if first in _BINARIES:
            return self._length(_BINARIES[first])
        length = self._length_of_string(first)
        if length is None:
            self._fail(f"{what} is neither a text nor bytes")
        return length

    def _complex(self) -> complex:
        if self._length_of_list(self._take(1)[0]) != 2:
            self._fail("a complex number is not a pair")
        return complex(self._plain_number(), self._plain_number())

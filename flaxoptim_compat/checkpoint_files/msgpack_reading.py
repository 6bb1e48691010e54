"""Reads the msgpack files of flax.serialization, without the values of arrays.

The package ``msgpack`` reads names, numbers and texts, and the lengths of maps and lists. The
values of an array are skipped: the array in the tree has their offset in the file, a shape and a
dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import msgpack

from flaxoptim_compat.checkpoint_files.chunks import CHUNKED, joined
from flaxoptim_compat.checkpoint_files.dtypes import dtype_named, is_possible_shape
from flaxoptim_compat.checkpoint_files.source import COPY_AGAIN, ArrayInFile, Source
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredList, Tree
from flaxoptim_compat.checkpoint_files.trees import DEEPEST

# Real checkpoints have some thousand entries, and no texts of megabytes. Without these limits, a
# small file of empty maps could become a large tree, and a text could take all memory.
MOST_ENTRIES = 1_000_000
LONGEST_TEXT = 2**28
# The types of flax.serialization's extensions.
ARRAY, COMPLEX, SCALAR = 1, 2, 3

_WINDOW = 2**13
_MAPS = frozenset([*range(0x80, 0x90), 0xDE, 0xDF])
_LISTS = frozenset([*range(0x90, 0xA0), 0xDC, 0xDD])
# {first byte of an extension: number of bytes of its length}
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4, **dict.fromkeys(range(0xD4, 0xD9), 0)}
# {first byte of the values of an array: number of bytes of their length}. Flax also accepts texts.
_VALUES = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}


def read_msgpack(source: Source) -> Tree:
    """The tree in an open msgpack file, from which the arrays will be read.

    Raises:
      CheckpointError: the file is no msgpack checkpoint, or damaged.
    """
    return _Reader(source).root()


class _Reader:
    """The position in an open file, and the names that lead to the value there."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names: list[str] = []
        self._known: dict[str, str] = {}
        self._entries = 0
        self._window, self._window_begin = b"", 0
        self._go_to(0)

    def root(self) -> Tree:
        if not self._source.size:
            raise CheckpointError(f"{self._source.path} is empty.{COPY_AGAIN}")
        try:
            tree = self._value()
            if self._offset < self._source.size:
                left = self._source.size - self._offset
                self._fail(f"{left:,} more bytes after the end of the data")
        except CheckpointError:
            raise
        except (msgpack.UnpackException, ValueError) as error:
            self._fail(_problem(error))
        return tree

    def _go_to(self, offset: int) -> None:
        self._begin = self._position = offset
        self._unpacker = msgpack.Unpacker(self, read_size=_WINDOW, max_buffer_size=LONGEST_TEXT)
        self._unpack: Callable[[], Any] = self._unpacker.unpack
        self._tell: Callable[[], int] = self._unpacker.tell

    def read(self, size: int) -> bytes:
        """The next bytes of the file, for the unpacker."""
        content = self._bytes_from(self._position)[:size]
        self._position += len(content)
        return content

    def _bytes_from(self, offset: int) -> bytes:
        place = offset - self._window_begin
        if not 0 <= place < len(self._window):
            self._window = self._source.bytes_at(offset, _WINDOW)
            self._window_begin, place = offset, 0
        return self._window[place:]

    @property
    def _offset(self) -> int:
        return self._begin + self._tell()

    def _first_byte(self) -> int:
        """The next byte, without going past it."""
        place = self._begin + self._tell() - self._window_begin
        if 0 <= place < len(self._window):
            return self._window[place]
        if not (content := self._bytes_from(self._offset)):
            raise msgpack.OutOfData
        return content[0]

    def _fail(self, problem: str) -> NoReturn:
        where = f", under {'/'.join(self._names)!r:.200}" if self._names else ""
        raise CheckpointError(
            f"{self._source.path} is not a msgpack checkpoint, or damaged: at byte"
            f" {self._offset:,}{where}: {problem}.{COPY_AGAIN}"
        )

    def _expect(self, size: int) -> None:
        left = self._source.size - self._offset
        if size > left:
            self._fail(f"{size:,} bytes should follow, but only {left:,} do")

    def _value(self) -> Tree:
        first = self._first_byte()
        if first in _MAPS:
            return self._map()
        if first in _LISTS:
            return self._list()
        if first in _EXTENSIONS:
            return self._extension(_EXTENSIONS[first])
        value: Tree = self._unpack()
        return value

    def _container(self, length: int, smallest: int) -> int:
        """The length of a container, checked: each entry has at least ``smallest`` bytes."""
        self._expect(length * smallest)
        self._entries += length + 1
        if self._entries > MOST_ENTRIES:
            self._fail(f"more than {MOST_ENTRIES:,} entries, which no checkpoint has")
        if len(self._names) >= DEEPEST:
            self._fail(f"more than {DEEPEST} levels of nesting, which no checkpoint has")
        return length

    def _map(self) -> Tree:
        entries: dict[str, Tree] = {}
        for _ in range(self._container(self._unpacker.read_map_header(), 2)):
            name = self._unpack()
            if type(name) is not str:
                self._fail("the name of an entry is not a text")
            # One object for each name, so that dicts compare long names by identity.
            name = self._known.setdefault(name, name)
            if name in entries:
                self._fail(f"a second entry {name!r:.200}")
            self._names.append(name)
            entries[name] = self._value()
            self._names.pop()
        if CHUNKED not in entries:
            return entries
        try:
            return joined(entries)
        except ValueError as error:
            self._fail(str(error))

    def _list(self) -> Tree:
        items: list[Tree] = []
        for number in range(self._container(self._unpacker.read_array_header(), 1)):
            self._names.append(str(number))
            items.append(self._value())
            self._names.pop()
        return StoredList(items)

    def _extension(self, width: int) -> Tree:
        head = self._unpacker.read_bytes(2 + width)
        length = int.from_bytes(head[1:-1], "big") if width else 1 << head[0] - 0xD4
        self._expect(length)
        end, kind = self._offset + length, head[-1]
        if kind in (ARRAY, SCALAR):
            return self._array(end, is_scalar=kind == SCALAR)
        if kind != COMPLEX:
            self._fail(f"an extension of type {kind}, which Flax does not write")
        parts = self._unpack()
        is_pair = type(parts) is list and len(parts) == 2 and {*map(type, parts)} <= {int, float}
        if not is_pair or self._offset != end:
            self._fail("a complex number that is no pair of numbers")
        return complex(*parts)

    def _array(self, end: int, *, is_scalar: bool) -> ArrayInFile:
        if self._unpacker.read_array_header() != 3:
            self._fail("an array is not a triple of shape, dtype and values")
        shape, name = self._unpack(), self._unpack()
        if type(shape) is not list or not {*map(type, shape)} <= {int}:
            self._fail("the shape of an array is not made of integers")
        name = name.decode(errors="replace") if type(name) is bytes else name
        dtype = dtype_named(name) if type(name) is str and len(name) < 64 else None
        if dtype is None:
            self._fail("an array of an unknown dtype")
        if not is_possible_shape(tuple(shape), dtype) or (is_scalar and shape):
            self._fail(f"an array of the impossible shape {tuple(shape)!s:.200}")
        size = math.prod(shape) * dtype.itemsize
        between = end - size - self._offset
        head = self._unpacker.read_bytes(between) if 0 < between <= 5 else b""
        if not _announces(head, size):
            self._fail(f"values that are not those of shape {tuple(shape)} and dtype {dtype.name}")
        # To start again at another place takes longer than to read over few bytes.
        if end - self._offset < _WINDOW:
            self._unpacker.read_bytes(end - self._offset)
        else:
            self._go_to(end)
        parts = [(end - size, size)]
        return ArrayInFile(self._source, parts, tuple(shape), dtype, is_scalar=is_scalar)


def _announces(head: bytes, size: int) -> bool:
    """True if ``head`` has the bytes that msgpack writes before values of this size."""
    width = _VALUES.get(head[0], 0) if head else 0
    if not width:
        return head == bytes([0xA0 + size]) if size < 32 else False
    return len(head) == 1 + width and int.from_bytes(head[1:], "big") == size


def _problem(error: Exception) -> str:
    if isinstance(error, msgpack.OutOfData):
        return "the file ends within a value"
    if isinstance(error, msgpack.exceptions.BufferFull):
        return f"a text or bytes of more than {LONGEST_TEXT:,} bytes, which no checkpoint has"
    if isinstance(error, UnicodeDecodeError):
        return "a text that is not UTF-8"
    return "a value that Flax does not write"

"""The largest size that the index of an OCDBT database can have in memory.

Tensorstore reads a node of the index as a whole, however large a few compressed bytes become.
"""

from __future__ import annotations

from pathlib import Path

from flaxoptim_compat.checkpoint_files.source import Source

# The first bytes of a node, a manifest and a node of versions. Length, version and compression
# follow.
_MAGIC = bytes.fromhex("0cdb")
_MAGIC_OF = tuple(map(bytes.fromhex, ("20de", "3a2a", "1234")))
_HEAD = 4 + 8 + 1 + 1
_ZSTD = 1
_ZSTD_MAGIC = bytes.fromhex("28b52ffd")
# The largest size of an uncompressed block in a zstd frame.
_LONGEST_BLOCK = 2**17
_RLE = 1
# A larger database is not searched, because the search would take too long.
_LARGEST_SEARCHED = 2**26
_PIECE = 2**22


def size_of_index(directory: Path, size: int, most: int) -> int:
    """The largest size, in memory, of all nodes in the files of a directory.

    Args:
      directory: the directory of the database, which has plain files only.
      size: the total size of its files.
      most: the size at which the count may stop.

    Raises:
      CheckpointError: a file cannot be read.
    """
    total = 0
    for path in sorted(directory.rglob("*")) if size <= _LARGEST_SEARCHED else ():
        if not path.is_dir():
            with Source(path, inside=True) as source:
                total += _size_of_nodes(source, most - total)
    return total


def _size_of_nodes(source: Source, most: int) -> int:
    total = 0
    for begin in range(0, source.size, _PIECE):
        # With the first bytes of the next piece, because a node may begin across both.
        piece = source.bytes_at(begin, _PIECE + 3)
        place = piece.find(_MAGIC)
        while place >= 0 and total <= most:
            if piece[place + 2 : place + 4] in _MAGIC_OF:
                total += _size_of_node(source, begin + place, most - total)
            place = piece.find(_MAGIC, place + 2)
    return total


def _size_of_node(source: Source, place: int, most: int) -> int:
    head = source.bytes_at(place, _HEAD)
    length = int.from_bytes(head[4:12], "little")
    # Other bytes may look like the beginning of a node.
    if len(head) < _HEAD or length > source.size - place or head[-1] != _ZSTD:
        return 0
    frame, end = source.bytes_at(place + _HEAD, 5), place + length
    if frame[:4] != _ZSTD_MAGIC or len(frame) < 5:
        return 0
    kinds = frame[4]
    is_single = kinds >> 5 & 1
    sizes = (is_single, 2, 4, 8)[kinds >> 6] + (0, 1, 2, 4)[kinds & 3] + (1 - is_single)
    offset, total = place + _HEAD + 5 + sizes, 0
    while offset < end and total <= most:
        block = int.from_bytes(source.bytes_at(offset, 3), "little")
        total += _LONGEST_BLOCK
        offset += 3 + (1 if block >> 1 & 3 == _RLE else block >> 3)
        if block & 1:
            break
    return total

"""Reading npz files with names such as ``opt/target/params/Dense_0/kernel``.

Vision Transformer and Big Vision wrote them. Only arrays of numbers are read, and nothing is ever
unpickled. The checksum of each array is compared when it is read.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.lib.format as npy

from flaxoptim_compat.checkpoint_files.dtypes import LARGEST_SIZE, is_number, is_possible_shape
from flaxoptim_compat.checkpoint_files.leaves import PIECE
from flaxoptim_compat.checkpoint_files.nesting import nested
from flaxoptim_compat.checkpoint_files.promised import refuse_unaccounted
from flaxoptim_compat.checkpoint_files.source import COPY_AGAIN, cannot_read, empty_bytes
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, Tree
from flaxoptim_compat.versions.of_python import warnings_ignored

# Less than half of it does for 32 dimensions. A longer one could be made that is slow to parse.
_LONGEST_HEADER = 2_000
_LONGEST_START = 12 + _LONGEST_HEADER
# By the version of the format. The third differs from the second in names of records only.
_READ_HEADER = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    (3, 0): npy.read_array_header_2_0,
}
# Numpy saves bfloat16 as two bytes of an unknown kind.
_TWO_BYTES = np.dtype("V2")
# No byte of a deflated member becomes more than 1032 bytes.
_LARGEST_EXPANSION = 1032


class _Header(NamedTuple):
    """What stands before the values of an array.

    Args:
      size: its own length in bytes.
      dtype: the dtype as it is stored, in any byte order.
      shape: the shape.
      columns_first: whether the first index varies fastest.
    """

    size: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    columns_first: bool


@contextlib.contextmanager
def open_npz(path: Path) -> Iterator[Tree]:
    """The tree in an npz file, names being split at each slash.

    Args:
      path: the file.

    Raises:
      CheckpointError: it is damaged, or holds something else than arrays of numbers.
    """
    with _errors_of(path):
        archive = zipfile.ZipFile(path)
    with archive:
        entries = [(_names(path, each), _array(archive, path, each)) for each in archive.infolist()]
        promised = sum(array.nbytes for _, array in entries)
        refuse_unaccounted(path, promised, path.stat().st_size)
        yield nested(entries, path)


def _names(path: Path, member: zipfile.ZipInfo) -> list[str]:
    if not member.filename.endswith(".npy"):
        raise CheckpointError(
            f"{path} has an entry {member.filename!r}, which is not an array. A checkpoint in npz"
            " has arrays only."
        )
    return member.filename.removesuffix(".npy").split("/")


def _array(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo) -> StoredArray:
    where = f"{path}, at {member.filename!r}"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CheckpointError(f"{where}: compressed in a way that numpy does not use.{COPY_AGAIN}")
    with _errors_of(path), archive.open(member) as file:
        header = _read_header(file, where)
    size = math.prod(header.shape) * header.dtype.itemsize
    expansion = _LARGEST_EXPANSION if member.compress_type == zipfile.ZIP_DEFLATED else 1
    if (
        header.size + size != member.file_size
        or member.file_size > (member.compress_size + 1) * expansion
        or member.compress_size > path.stat().st_size
    ):
        raise CheckpointError(
            f"{where}: {member.file_size:,} bytes, in {member.compress_size:,} of the file, cannot"
            f" be an array of shape {header.shape} and dtype {header.dtype}.{COPY_AGAIN}"
        )
    is_bfloat16 = header.dtype == _TWO_BYTES
    dtype = np.dtype(ml_dtypes.bfloat16) if is_bfloat16 else header.dtype.newbyteorder("=")
    read = functools.partial(_read, archive, path, member, header, dtype)
    return StoredArray(header.shape, dtype, read)


def _read_header(file: IO[bytes], where: str) -> _Header:
    # No more than this, as numpy would first read whatever length the header claims to have.
    start = io.BytesIO(file.read(_LONGEST_START))
    try:
        version = npy.read_magic(start)
        read = _READ_HEADER[version]
    except (ValueError, KeyError):
        raise CheckpointError(f"{where}: not an array of numpy.{COPY_AGAIN}") from None
    try:
        # Of headers by Python 2 numpy warns, but it reads them.
        with warnings_ignored():
            shape, columns_first, dtype = read(start, _LONGEST_HEADER)
    except Exception:
        # Python's own parser reads it, and has many ways to say that this is no header.
        shape, columns_first, dtype = (), False, None
    if dtype is not None and dtype.hasobject:
        raise CheckpointError(
            f"{where}: pickled Python objects. Unpickling can run any code, so they are not read."
            " Save the checkpoint again, with arrays only."
        )
    lengths_are_numbers = all(type(each) is int and 0 <= each <= LARGEST_SIZE for each in shape)
    if dtype is None or not (lengths_are_numbers and (is_number(dtype) or dtype == _TWO_BYTES)):
        header = start.getvalue()[10 if version == (1, 0) else 12 : start.tell()]
        text = header[:100].decode("latin1").strip()
        raise CheckpointError(
            f"{where}: not an array of numbers; its header is {text!r}.{COPY_AGAIN}"
        )
    if not is_possible_shape(shape, dtype):
        raise CheckpointError(f"{where}: an array of the impossible shape {shape}.{COPY_AGAIN}")
    return _Header(start.tell(), dtype, shape, columns_first)


def _read(
    archive: zipfile.ZipFile,
    path: Path,
    member: zipfile.ZipInfo,
    header: _Header,
    dtype: np.dtype[Any],
) -> np.ndarray[Any, Any]:
    if archive.fp is None:
        raise CheckpointError(f"{path} is closed. Read its arrays inside 'with open_checkpoint'.")
    values = empty_bytes(path, math.prod(header.shape) * dtype.itemsize)
    with _errors_of(path), archive.open(member) as file:
        file.read(header.size)
        done = 0
        # Piece by piece, as zipfile makes a copy of what it reads.
        while piece := file.read(PIECE):
            values.data[done : done + len(piece)] = piece
            done += len(piece)
        if done < len(values):
            raise EOFError(f"{member.filename!r} is shorter than it says")
    array = values.view(header.dtype)
    if not header.dtype.isnative:
        array.byteswap(inplace=True)
    array = array.view(dtype)
    return (
        array.reshape(header.shape[::-1]).T if header.columns_first else array.reshape(header.shape)
    )


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Turn whatever zipfile says of a damaged file into one kind of error."""
    try:
        yield
    except CheckpointError:
        raise
    except OSError as error:
        raise cannot_read(path, error) from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OverflowError,
    ) as error:
        raise CheckpointError(
            f"{path} is not an npz file, or damaged: {error}.{COPY_AGAIN}"
        ) from error

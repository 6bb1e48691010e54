"""Reads npz files with names such as ``opt/target/params/Dense_0/kernel``.

Vision Transformer and Big Vision wrote such files. Numpy reads arrays of numbers only, and
unpickles nothing. The checksum of each array is compared when the array is read.
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
from typing import Any

import ml_dtypes
import numpy as np
import numpy.lib.format as npy

from flaxoptim_compat.checkpoint_files.dtypes import is_number, is_possible_shape
from flaxoptim_compat.checkpoint_files.plain_files import cannot_read, open_plain
from flaxoptim_compat.checkpoint_files.promised import refuse_unaccounted
from flaxoptim_compat.checkpoint_files.source import COPY_AGAIN, too_large
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, Tree
from flaxoptim_compat.checkpoint_files.trees import nested
from flaxoptim_compat.versions.of_python import warnings_ignored

# A header with 32 dimensions has less than half of this. A longer header could be slow to parse.
_LONGEST_HEADER = 2_000
# {version of the format: its reader}. The third differs from the second in names of records only.
_READ_HEADER = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    (3, 0): npy.read_array_header_2_0,
}
# Numpy saves bfloat16 as two bytes of an unknown kind.
_TWO_BYTES = np.dtype("V2")
# {compression that numpy uses: the largest number of bytes that one byte can become}
_EXPANSION = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}


@contextlib.contextmanager
def open_npz(path: Path) -> Iterator[Tree]:
    """The tree in an npz file, whose names are split at each slash.

    Raises:
      CheckpointError: the file is damaged, or holds other values than arrays of numbers.
    """
    # Numpy does not close a file that is no zip file.
    with contextlib.ExitStack() as stack:
        with _errors_of(path):
            file = stack.enter_context(open_plain(path))
            archive: Any = stack.enter_context(np.load(file, allow_pickle=False))
        stored = archive.zip.infolist()
        entries = [(_names(path, member), _array(archive, path, member)) for member in stored]
        promised = sum(array.nbytes for _, array in entries)
        refuse_unaccounted(path, promised, path.stat().st_size)
        yield nested(entries, path)


def _names(path: Path, member: zipfile.ZipInfo) -> list[str]:
    if not member.filename.endswith(".npy"):
        raise CheckpointError(
            f"{path} has an entry {member.filename!r}, which is not an array. Save the checkpoint"
            " with arrays only."
        )
    return member.filename.removesuffix(".npy").split("/")


def _array(archive: Any, path: Path, member: zipfile.ZipInfo) -> StoredArray:
    where = f"{path}, at {member.filename!r}"
    expansion = _EXPANSION.get(member.compress_type)
    if expansion is None:
        raise CheckpointError(f"{where}: compressed in a way that numpy does not use.{COPY_AGAIN}")
    with _errors_of(path), archive.zip.open(member) as file:
        # Limited, because numpy would read as many bytes as the header claims to have.
        start = io.BytesIO(file.read(12 + _LONGEST_HEADER))
    shape, dtype = _read_header(start, where)
    if not is_possible_shape(shape, dtype):
        raise CheckpointError(f"{where}: an array of the impossible shape {shape}.{COPY_AGAIN}")
    if (
        start.tell() + math.prod(shape) * dtype.itemsize != member.file_size
        or member.file_size > (member.compress_size + 1) * expansion
        or member.compress_size > path.stat().st_size
    ):
        raise CheckpointError(
            f"{where}: {member.file_size:,} bytes, in {member.compress_size:,} of the file, cannot"
            f" be an array of shape {shape} and dtype {dtype}.{COPY_AGAIN}"
        )
    dtype = np.dtype(ml_dtypes.bfloat16) if dtype == _TWO_BYTES else dtype.newbyteorder("=")
    return StoredArray(shape, dtype, functools.partial(_read, archive, path, member, dtype))


def _read_header(start: io.BytesIO, where: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the dtype of an array; a dtype of anything but numbers is refused."""
    try:
        version = npy.read_magic(start)
        read = _READ_HEADER[version]
    except (ValueError, KeyError):
        raise CheckpointError(f"{where}: not an array of numpy.{COPY_AGAIN}") from None
    try:
        # Numpy warns of headers from Python 2, and reads them.
        with warnings_ignored():
            shape, _, dtype = read(start, _LONGEST_HEADER)
    except Exception:
        # Python's parser reads the header, and raises many kinds of errors.
        shape, dtype = (), np.dtype("U")
    if dtype.hasobject:
        raise CheckpointError(
            f"{where}: pickled Python objects, which can run any code, are not read. Save the"
            " checkpoint again, with arrays only."
        )
    lengths_are_numbers = all(type(length) is int and 0 <= length < 2**63 for length in shape)
    if not (lengths_are_numbers and (is_number(dtype) or dtype == _TWO_BYTES)):
        header = start.getvalue()[10 if version == (1, 0) else 12 : start.tell()]
        text = header[:100].decode("latin1").strip()
        raise CheckpointError(
            f"{where}: not an array of numbers; its header is {text!r}.{COPY_AGAIN}"
        )
    return shape, dtype


def _read(
    archive: Any, path: Path, member: zipfile.ZipInfo, dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    if archive.zip is None:
        raise CheckpointError(f"{path} is closed. Read its arrays inside 'with open_checkpoint'.")
    try:
        with _errors_of(path), warnings_ignored():
            values: np.ndarray[Any, Any] = archive[member.filename]
    except MemoryError as error:
        raise too_large(path, member.file_size) from error
    if not values.dtype.isnative:
        values.byteswap(inplace=True)
    return values.view(dtype)


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Turn all errors of numpy and zipfile about a damaged file into a CheckpointError."""
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

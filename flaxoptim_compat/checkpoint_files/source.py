"""An open file of a checkpoint: its bytes, and the arrays in it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flaxoptim_compat.checkpoint_files.plain_files import cannot_read, open_plain
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray

COPY_AGAIN = (
    " If the checkpoint was cut short or damaged on the way here, copy it again; if not, use an"
    " earlier one."
)


class Source:
    """An open file.

    The file is read and not mapped into memory: if another process shortens the file, there is an
    error and no crash.

    Args:
      path: the file.
      inside: whether the file is part of a directory, and must not be a link.

    Raises:
      CheckpointError: the file cannot be opened, or is no plain file.
    """

    def __init__(self, path: Path, *, inside: bool = False) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self.file = open_plain(path, inside=inside)
            self.size = os.fstat(self.file.fileno()).st_size
        except OSError as error:
            raise cannot_read(path, error) from error

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def bytes_at(self, offset: int, size: int) -> bytes:
        """The bytes from ``offset`` on; fewer than ``size`` at the end of the file.

        Raises:
          CheckpointError: the file cannot be read.
        """
        buffer = bytearray(max(0, min(size, self.size - offset)))
        self.read_into(offset, memoryview(buffer))
        return bytes(buffer)

    def read_into(self, offset: int, buffer: memoryview) -> None:
        """Fill ``buffer`` with the bytes from ``offset`` on.

        Raises:
          CheckpointError: the file was closed, or has become shorter.
        """
        with self._lock:
            if self.file.closed:
                raise CheckpointError(
                    f"{self.path} is closed. Read its arrays inside 'with open_checkpoint'."
                )
            try:
                self.file.seek(offset)
                done = 0
                while done < len(buffer) and (count := self.file.readinto(buffer[done:])):
                    done += count
            except OSError as error:
                raise cannot_read(self.path, error) from error
        if done < len(buffer):
            raise CheckpointError(
                f"{self.path} has become shorter while it was read. Wait until no other program"
                " writes it, and start again."
            )


class ArrayInFile(StoredArray):
    """An array whose values are in a file, in C order.

    Args:
      source: the file.
      parts: the places in the file where the values begin, each with a number of bytes.
      shape: the shape.
      dtype: the dtype.
      is_scalar: whether the array was saved from a numpy scalar.
    """

    def __init__(
        self,
        source: Source,
        parts: Sequence[tuple[int, int]],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        is_scalar: bool = False,
    ) -> None:
        super().__init__(shape, dtype, self._read_parts, is_scalar=is_scalar)
        self.source = source
        self.parts = parts

    def _read_parts(self) -> np.ndarray[Any, Any]:
        try:
            values = np.empty(self.nbytes, np.uint8)
        except MemoryError as error:
            raise too_large(self.source.path, self.nbytes) from error
        done = 0
        for offset, size in self.parts:
            self.source.read_into(offset, values.data[done : done + size])
            done += size
        return values.view(self.dtype).reshape(self.shape)


def too_large(path: Path, size: int) -> CheckpointError:
    """The error of an array that is larger than the free memory."""
    return CheckpointError(
        f"{path} has an array of {size:,} bytes, which is more than the free memory. Read the"
        " checkpoint on a larger machine."
    )

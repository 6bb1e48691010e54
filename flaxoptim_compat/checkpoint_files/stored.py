"""The tree of a checkpoint: nested mappings with arrays that stay in the file until read."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Tree: TypeAlias = (
    "Mapping[str, Tree] | StoredArray | int | float | complex | bool | str | bytes | None"
)


class CheckpointError(ValueError):
    """A checkpoint cannot be read or written; the message names the file, and the next step."""


@dataclasses.dataclass(eq=False, repr=False)
class StoredArray:
    """An array that stays in its file until ``read`` reads it.

    The dtype may be one of ``ml_dtypes``. ``is_scalar`` is True if the array was saved from a numpy
    scalar, and not from an array without dimensions.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    _read: Callable[[], np.ndarray[Any, Any]]
    is_scalar: bool = False

    @property
    def nbytes(self) -> int:
        """The size of the values in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self) -> np.ndarray[Any, Any]:
        """The values, read-only, read from the file in each call.

        Raises:
          CheckpointError: the file was closed, shortened or damaged.
        """
        values = self._read().view()
        values.flags.writeable = False
        return values

    def __repr__(self) -> str:
        return f"StoredArray(shape={self.shape}, dtype={self.dtype.name})"


def is_index(name: str) -> bool:
    """True if a name is the index of an entry in a list; Python refuses numbers of 5,000 digits."""
    return name.isdecimal() and len(name) < 20


class StoredList(Mapping[str, "Tree"]):
    """A list in a msgpack file, as a mapping with the names '0', '1' and so on.

    Flax.serialization numbers lists in this way. The mapping is written as a list again.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[Tree]) -> None:
        self._items = tuple(items)

    def __getitem__(self, name: str) -> Tree:
        if not (is_index(name) and str(int(name)) == name and int(name) < len(self)):
            raise KeyError(name)
        return self._items[int(name)]

    def __iter__(self) -> Iterator[str]:
        return map(str, range(len(self)))

    def __len__(self) -> int:
        return len(self._items)


def array_in_memory(value: Any) -> StoredArray:
    """The leaf, in a tree to be written, for an array in memory.

    Args:
      value: an array of numpy or jax, or a numpy scalar, which is written as a scalar.
    """
    import numpy as np

    array = np.asarray(value)
    return StoredArray(
        array.shape, array.dtype, lambda: array, is_scalar=isinstance(value, np.generic)
    )

"""Trees to be written to checkpoint files, and what a comparison of them looks at."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from flax import serialization

from flaxoptim_compat.checkpoint_files import (
    StoredArray,
    StoredList,
    open_checkpoint,
    write_checkpoint,
)
from tests.support.places import DATA

GOLDENS = sorted((DATA / "goldens" / "checkpoints").rglob("*.msgpack"))

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    *("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"),
]


def array_of(dtype: str, shape: tuple[int, ...] = (2, 3)) -> np.ndarray[Any, Any]:
    """Zeros and ones in some order, which every dtype has."""
    found = np.dtype(getattr(ml_dtypes, dtype, dtype))
    return (np.arange(int(np.prod(shape))) % 3 == 1).astype(found).reshape(shape)


# What becomes of a complex number of Python: beside numpy 1, flax takes it for one of numpy.
COMPLEX: Any = type(serialization.msgpack_restore(serialization.msgpack_serialize([1j]))[0])
# What state dicts of flax consist of.
LEAVES: dict[str, Any] = {
    "array": np.arange(6, dtype=np.float32).reshape(2, 3),
    "complex": COMPLEX(1.5 - 2j),
    "counter": np.asarray(7, np.int32),
    "empty": {},
    "flag": True,
    "half": array_of("bfloat16", (4,)),
    "integers": {str(n): n for n in (0, 1, 127, 128, 255, 256, 65535, 65536, 2**32, 2**64 - 1)},
    "list": {"0": np.ones(2), "1": {"0": 1}},
    "negative": {str(n): n for n in (-1, -32, -33, -128, -129, -32769, -(2**31) - 1, -(2**63))},
    "none": None,
    "number": 0.1,
    "scalar": np.float32(0.5),
    "text": "Straße",
}


def loaded(tree: Any) -> Any:
    """The same tree with all arrays read; numpy scalars are what they were."""
    if isinstance(tree, StoredList):
        return [loaded(item) for item in tree.values()]
    if isinstance(tree, Mapping):
        return {name: loaded(child) for name, child in tree.items()}
    if not isinstance(tree, StoredArray):
        return tree
    values = tree.read()
    assert values.shape == tree.shape
    assert values.dtype == tree.dtype
    assert values.nbytes == tree.nbytes
    assert not values.flags.writeable
    return values[()] if tree.is_scalar else values


def contents(path: Path) -> Any:
    """Everything in a checkpoint."""
    with open_checkpoint(path) as checkpoint:
        return loaded(checkpoint.tree)


def described(tree: Any) -> Any:
    """The tree with each leaf told by its type and bits, so that == compares all there is."""
    if isinstance(tree, Mapping):
        return {name: described(child) for name, child in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [described(item) for item in tree]
    if isinstance(tree, (np.ndarray, np.generic)):
        kind = "scalar" if isinstance(tree, np.generic) else "array"
        return kind, tree.dtype.name, tree.shape, tree.tobytes()
    return type(tree), repr(tree)


def flax_bytes(tree: Any) -> bytes:
    """What flax.serialization writes."""
    # Not in place, it would sort the names, as it never does in to_bytes.
    return serialization.msgpack_serialize(copy.deepcopy(tree), in_place=True)


def nested_bytes(depth: int) -> bytes:
    """Maps in maps, in msgpack."""
    return b"\x81\xa1a" * depth + b"\xc0"


def rewritten(content: bytes, folder: Path) -> bytes:
    """A msgpack file after it was read and written again."""
    (folder / "source").write_bytes(content)
    with open_checkpoint(folder / "source") as checkpoint:
        write_checkpoint(folder / "written", checkpoint.tree, "msgpack")
    return (folder / "written").read_bytes()


def written(tree: Any, folder: Path) -> bytes:
    """A tree as a msgpack file that is written here."""
    write_checkpoint(folder / "written", tree, "msgpack")
    return (folder / "written").read_bytes()

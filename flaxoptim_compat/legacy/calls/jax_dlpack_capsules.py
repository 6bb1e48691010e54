"""``jax.dlpack.from_dlpack`` of a capsule, which jax takes no more."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


class _OfCapsule:
    """What hands a capsule out as an array would."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        read = ctypes.pythonapi.PyCapsule_GetPointer
        read.restype, read.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        # DLPack begins with the address of the data, and the kind and number of their device.
        address = read(self._capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
        kind, number = (ctypes.c_int32 * 2).from_address(address)
        return kind, number


def is_a_capsule(*args: Any, **_: Any) -> bool:
    """Whether a capsule is to become an array."""
    return bool(args) and type(args[0]).__name__ == "PyCapsule"


def from_dlpack(original: Callable[..., Any], dlpack: Any, backend: Any = None) -> Any:
    """The array of a capsule, or of what can make one."""
    del backend  # The capsule knows its device.
    return original(_OfCapsule(dlpack) if is_a_capsule(dlpack) else dlpack)

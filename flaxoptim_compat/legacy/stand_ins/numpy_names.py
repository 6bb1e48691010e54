"""Constants and functions of numpy that have no successor with the same arguments."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

NINF = -np.inf
NZERO = -0.0
PZERO = 0.0


def in1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> np.ndarray[Any, Any]:
    """Tell which elements of an array are in another one, as a flat array."""
    is_in: Any = np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert, kind=kind)
    return np.asarray(is_in)


def msort(a: Any) -> np.ndarray[Any, Any]:
    """Sort an array along its first axis."""
    return np.sort(np.asanyarray(a), axis=0)


def asfarray(a: Any, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    """Return an array of floating point or complex numbers; float64 where ``dtype`` is neither."""
    return np.asarray(a, dtype=dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def asscalar(a: Any) -> Any:
    """Return the Python number in an array of one element."""
    return a.item()


def alen(a: Any) -> int:
    """Return the length of the first axis, or 1 for a number."""
    try:
        return len(a)
    except TypeError:
        return len(np.array(a, ndmin=1))


def disp(mesg: Any, device: Any = None, linefeed: bool = True) -> None:
    """Write a message to a stream, by default the standard output."""
    stream = sys.stdout if device is None else device
    stream.write(f"{mesg}\n" if linefeed else f"{mesg}")
    stream.flush()

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
    """Tell which elements of an array are in another one, as a flat array.

    Args:
      ar1: the array.
      ar2: the other one.
      assume_unique: whether neither has duplicates.
      invert: whether to tell which elements are not.
      kind: the algorithm; the best one if None.
    """
    found: Any = np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert, kind=kind)
    return np.asarray(found)


def msort(a: Any) -> np.ndarray[Any, Any]:
    """Sort an array along its first axis.

    Args:
      a: the array.
    """
    return np.sort(np.asanyarray(a), axis=0)


def asfarray(a: Any, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    """Return an array of floating point or complex numbers.

    Args:
      a: the array.
      dtype: its dtype; float64 if that of an integer is given.
    """
    return np.asarray(a, dtype=dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def asscalar(a: Any) -> Any:
    """Return the Python number in an array of one element.

    Args:
      a: the array.
    """
    return a.item()


def alen(a: Any) -> int:
    """Return the length of the first axis, or 1 for a number.

    Args:
      a: the array.
    """
    try:
        return len(a)
    except TypeError:
        return len(np.array(a, ndmin=1))


def disp(mesg: Any, device: Any = None, linefeed: bool = True) -> None:
    """Write a message.

    Args:
      mesg: the message.
      device: where to; the standard output if None.
      linefeed: whether to end the line.
    """
    stream = sys.stdout if device is None else device
    stream.write(f"{mesg}\n" if linefeed else f"{mesg}")
    stream.flush()

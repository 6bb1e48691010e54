"""Types of numpy, looked up: ``obj2sctype``, ``sctypes``, ``find_common_type`` and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_KINDS: dict[str, list[type]] = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}
# On a platform whose long double is double, the type was listed once.
sctypes = {kind: list(dict.fromkeys(types)) for kind, types in _KINDS.items()}

_ABSTRACT: dict[str, type] = {
    "complex": np.complexfloating,
    "float": np.inexact,
    "uint": np.unsignedinteger,
    "int": np.integer,
}

# From narrow to wide, as find_common_type tried them.
_WIDER_AND_WIDER = "?bBhHiIlLqQefdgFDGO"
_KIND_ORDER = "buifcSUVOMm"


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """Return the scalar type of a type, of a dtype, of its name or of an array."""
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    if isinstance(rep, np.ndarray):
        return rep.dtype.type
    try:
        return np.dtype(rep).type
    except Exception:
        return default


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """Tell whether the first argument is a subclass; False if it is no class."""
    try:
        return issubclass(arg1, arg2)
    except TypeError:
        return False


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """Tell whether the scalar type of one argument is a subclass of that of the other."""
    return issubclass(obj2sctype(arg1), obj2sctype(arg2))


def issctype(rep: Any) -> bool:
    """Tell whether the argument is a type of scalars or a dtype, and not that of objects."""
    if not isinstance(rep, (type, np.dtype)):
        return False
    scalar_type = obj2sctype(rep)
    return bool(scalar_type) and scalar_type != np.object_


def sctype2char(sctype: Any) -> str:
    """Return the character of a scalar type."""
    scalar_type = obj2sctype(sctype)
    if scalar_type is None:
        raise ValueError("unrecognized type")
    if scalar_type not in _concrete_types():
        raise KeyError(scalar_type)
    return str(np.dtype(scalar_type).char)


def maximum_sctype(t: Any) -> Any:
    """Return the widest type of the same kind as a type."""
    scalar_type = obj2sctype(t)
    if scalar_type is None:
        return t
    # A time difference counts as an integer, but it is the only type of its kind.
    kinds = () if issubclass(scalar_type, np.timedelta64) else _ABSTRACT.items()
    widest = (sctypes[kind][-1] for kind, base in kinds if issubclass(scalar_type, base))
    return next(widest, scalar_type)


def find_common_type(array_types: Sequence[Any], scalar_types: Sequence[Any]) -> Any:
    """Return the type of a result, in which arrays count more than scalars.

    Args:
      array_types: the dtypes of the arrays.
      scalar_types: the dtypes of the scalars, which count only if their kind is a higher one.
    """
    of_arrays = _first_that_holds([np.dtype(each) for each in array_types])
    of_scalars = _first_that_holds([np.dtype(each) for each in scalar_types])
    if of_arrays is None or of_scalars is None:
        return of_scalars if of_arrays is None else of_arrays
    ranks = [_KIND_ORDER.find(each.kind) for each in (of_arrays, of_scalars)]
    if -1 in ranks:
        return None
    if ranks[1] <= ranks[0]:
        return of_arrays
    if of_scalars > of_arrays:
        return of_scalars
    start = _WIDER_AND_WIDER.find(of_scalars.char)
    return None if start < 0 else _first_that_holds([of_scalars, of_arrays], start)


def _first_that_holds(dtypes: list[np.dtype[Any]], start: int = 0) -> np.dtype[Any] | None:
    if len(dtypes) < 2:
        return dtypes[0] if dtypes else None
    candidates = (np.dtype(char) for char in _WIDER_AND_WIDER[start:])
    return next((wide for wide in candidates if all(wide >= each for each in dtypes)), None)


def _concrete_types() -> set[type]:
    return {np.dtype(char).type for char in np.typecodes["All"]}


class ByType(dict[Any, Any]):
    """A dict with scalar types as keys, which also takes anything that ``obj2sctype`` takes."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(obj2sctype(key))


def _caster(scalar_type: type) -> Callable[[Any], np.ndarray[Any, Any]]:
    return lambda x: np.asarray(x).astype(scalar_type)


cast = ByType({each: _caster(each) for each in _concrete_types()})
nbytes = ByType({each: np.dtype(each).itemsize for each in _concrete_types()})

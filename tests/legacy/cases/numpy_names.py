"""What programs did with names that numpy dropped."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from tests.legacy.cases.old_names import Case, Old

MODULES = ("numpy",)

VECTOR = np.linspace(-2.5, 4.0, 7)
INTEGERS = np.asarray([[3, -1, 2], [5, 0, -7]], np.int32)
FLAGS = np.asarray([[True, False], [True, True]])
DTYPES = ("?", "b", "B", "i", "I", "l", "L", "e", "f", "d", "g", "F", "D", "S3", "U2", "O", "M8[s]")


def _written(old: Old, *args: Any) -> str:
    stream = io.StringIO()
    old("numpy.disp")("text", stream, *args)
    return stream.getvalue()


def _common(old: Old) -> dict[str, Any]:
    find = old("numpy.find_common_type")
    pairs = [(one, other) for one in DTYPES for other in DTYPES]
    return {
        "arrays": {f"{pair}": find(pair, []) for pair in pairs},
        "scalars": {f"{pair}": find([], pair) for pair in pairs},
        "both": {f"{pair}": find(pair[:1], pair[1:]) for pair in pairs},
        "neither": find([], []),
        "many": find(["f4", "f4"], ["i8", "c8", "f8"]),
    }


THINGS = (
    *(np.float32, np.floating, np.generic, float, int, str, object, bool, np.object_),
    *("f4", "i", "complex64", np.dtype("u2"), np.zeros(2, np.int16), "nonsense", 3, None, list),
)


def _each(old: Old, name: str) -> list[Any]:
    function = old(f"numpy.{name}")
    results: list[Any] = []
    for thing in THINGS:
        try:
            result = function(thing)
        except Exception as error:
            result = type(error).__name__
        results.append(f"{result}".replace("numpy.bool'", "numpy.bool_'"))
    return results


CASES: dict[str, Case] = {
    "types": lambda old: {
        name: old(f"numpy.{name}")
        for name in (
            *("bool8", "bytes0", "cfloat", "clongfloat", "complex_", "float_", "int0", "object0"),
            *("longcomplex", "longfloat", "singlecomplex", "str0", "string_", "uint0"),
            *("unicode_", "void0"),
        )
    },
    "constants": lambda old: {
        name: str(float(old(f"numpy.{name}")))
        for name in ("Inf", "Infinity", "NAN", "NINF", "NZERO", "NaN", "PINF", "PZERO", "infty")
    },
    "math": lambda old: old("numpy.math").sqrt(2.0),
    "alltrue": lambda old: old("numpy.alltrue")(FLAGS, 0),
    "sometrue": lambda old: old("numpy.sometrue")(FLAGS, axis=1, keepdims=True),
    "product": lambda old: old("numpy.product")(INTEGERS, 1),
    "cumproduct": lambda old: old("numpy.cumproduct")(INTEGERS, axis=0),
    "round_": lambda old: old("numpy.round_")(VECTOR, 1),
    "trapz": lambda old: old("numpy.trapz")(VECTOR, dx=0.5),
    "trapz of integers": lambda old: old("numpy.trapz")(INTEGERS, [0, 1, 3]),
    "in1d": lambda old: old("numpy.in1d")(INTEGERS, [5, 2, 2]),
    "in1d, inverted": lambda old: old("numpy.in1d")([3, 1, 3], INTEGERS, invert=True),
    "in1d of a number": lambda old: old("numpy.in1d")(3, INTEGERS, True),
    "in1d of strings": lambda old: old("numpy.in1d")(["a", "b"], ["b"]),
    "msort": lambda old: old("numpy.msort")(INTEGERS),
    "msort of a list": lambda old: old("numpy.msort")([3, 1, 2]),
    "msort keeps its argument": lambda old: [old("numpy.msort")(VECTOR[::-1]), VECTOR],
    "asfarray": lambda old: old("numpy.asfarray")([1, 2]),
    "asfarray of integers": lambda old: old("numpy.asfarray")([1, 2], dtype="int32"),
    "asfarray of float16": lambda old: old("numpy.asfarray")(INTEGERS, np.float16),
    "asfarray of complex numbers": lambda old: old("numpy.asfarray")([1, 2], "complex64"),
    "mat": lambda old: type(old("numpy.mat")("1 2; 3 4")).__name__,
    "disp": lambda old: [_written(old), _written(old, False)],
    "safe_eval": lambda old: old("numpy.safe_eval")("{'a': [1, 2]}"),
    "byte_bounds": lambda old: int(np.diff(old("numpy.byte_bounds")(INTEGERS))[0]),
    "compare_chararrays": lambda old: old("numpy.compare_chararrays")(
        np.array(["a"]), np.array(["b"]), "<", False
    ),
    "lib.pad": lambda old: old("numpy.lib.pad")(INTEGERS, 1, "edge"),
    "lib.index_tricks": lambda old: old("numpy.lib.index_tricks.ix_")([0, 1], [2]),
    "cast": lambda old: [
        old("numpy.cast")["f"](INTEGERS),
        old("numpy.cast")[np.int8](VECTOR),
        old("numpy.cast")[int]([1.5, 2.5]),
    ],
    "cast to what is no type": lambda old: old("numpy.cast")["nonsense"],
    "nbytes": lambda old: [old("numpy.nbytes")[each] for each in ("f", np.int16, complex, "U3")],
    "sctypes": lambda old: old("numpy.sctypes"),
    "obj2sctype": lambda old: _each(old, "obj2sctype"),
    "obj2sctype of nothing": lambda old: old("numpy.obj2sctype")(list, default=1),
    "issctype": lambda old: _each(old, "issctype"),
    "maximum_sctype": lambda old: _each(old, "maximum_sctype"),
    "sctype2char": lambda old: _each(old, "sctype2char"),
    "issubclass_": lambda old: [
        old("numpy.issubclass_")(np.float32, np.floating),
        old("numpy.issubclass_")(np.float32, int),
        old("numpy.issubclass_")("float", np.floating),
        old("numpy.issubclass_")(np.float32, None),
    ],
    "issubsctype": lambda old: [
        old("numpy.issubsctype")(one, other)
        for one in ("S8", "f4", np.zeros(1), np.int8)
        for other in (str, bytes, np.floating, np.integer)
    ],
    "find_common_type": _common,
}

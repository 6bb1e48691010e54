"""What programs did with ``jax.ops`` and ``jax.test_util``, which were gone before jax 0.4."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.legacy.cases.old_names import Case, Old

VECTOR = np.linspace(-2.5, 4.0, 7).astype(np.float32)
MATRIX = np.cos(np.arange(12.0)).astype(np.float32).reshape(4, 3)
EXACT = np.asarray([[1, 2, -4], [0.5, 3, 8]], np.float32)
INTEGERS = np.asarray([[3, -1, 2], [5, 0, -7]], np.int32)
FLAGS = np.asarray([[True, False], [True, True]])


def _updated(old: Old, name: str, x: Any, index: Any, y: Any, **how: Any) -> Any:
    try:
        update = old(f"jax.ops.index_{name}")
    except (AttributeError, ImportError):
        # In 0.4.13 these were gone already, but not the way in which they computed.
        method = {"update": "set", "mul": "multiply"}.get(name, name)
        at = old("jax.numpy.asarray")(x).at[index]
        return getattr(at, method)(old("jax.numpy.asarray")(y), **how)
    return update(x, old("jax.ops.index")[index], y, **how)


UPDATES: dict[str, tuple[Any, ...]] = {
    "one element": (VECTOR, 2, 7.5),
    "a slice": (MATRIX, np.s_[1:3], MATRIX[:2] * 0.7),
    "a column, of a number": (MATRIX, np.s_[:, -1], -1.1),
    "the same element twice": (VECTOR, np.asarray([1, 1, 4]), np.float32([0.1, 0.2, 0.3])),
    "out of bounds": (VECTOR, np.asarray([1, 99]), np.float32([5, 6])),
    "integers by fractions": (INTEGERS, np.asarray([0, 0]), np.float32([[0.6] * 3, [1.7] * 3])),
    "a mask": (MATRIX, MATRIX > 0, 0.25),
    "wider numbers": (VECTOR.astype(np.float16), np.s_[2:4], np.float32([1 / 3, 2 / 3])),
    "complex numbers": (VECTOR.astype(np.complex64), 0, 1j),
    "a list": ([1.0, 2.0, 3.0], np.s_[1:2], [4.0]),
}


def _passing(old: Old, name: str, pairs: list[tuple[Any, Any]], **how: Any) -> list[bool]:
    try:
        check = old(f"jax.test_util.{name}")
    except (AttributeError, ImportError):
        # They went on in jax's own tests.
        check = getattr(old("jax._src.test_util"), name)
    return [not _fails(lambda pair=pair: check(*pair, **how)) for pair in pairs]


def _fails(assertion: Callable[[], None]) -> bool:
    try:
        assertion()
    except AssertionError:
        return True
    return False


PAIRS = [
    (VECTOR, VECTOR),
    (VECTOR, np.nextafter(VECTOR, np.float32(9))),
    (VECTOR, VECTOR + np.float32(3e-6)),
    (VECTOR, VECTOR + np.float32(1e-4)),
    (VECTOR.astype(np.float16), (VECTOR * 1.002).astype(np.float16)),
    (INTEGERS, INTEGERS + 1),
    ({"a": [1.0, INTEGERS]}, {"a": [1.0, INTEGERS]}),
    ({"a": [1.0, INTEGERS]}, {"a": [1.00001, INTEGERS]}),
    (np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf])),
    (MATRIX, MATRIX * np.float32(1.00001)),
]

CASES: dict[str, Case] = {
    **{
        f"index_{name}: {what}": partial(_updated, name=name, x=x, index=index, y=y)
        for name in ("update", "add", "mul", "min", "max")
        for what, (x, index, y) in UPDATES.items()
        if not (name in ("min", "max") and what == "complex numbers")
    },
    "index_add with promises": lambda old: _updated(
        old, "add", VECTOR, np.asarray([0, 3]), 1.0, indices_are_sorted=True, unique_indices=True
    ),
    "check_close": lambda old: _passing(old, "check_close", PAIRS),
    "check_close, by numbers": lambda old: _passing(
        old, "check_close", PAIRS, atol=1e-3, rtol={np.float32: 1e-7}
    ),
}

"""Equality of definitions by value, and of everything that a definition holds.

A definition is static under jit: equal definitions share a trace, and others must never do so.
"""

from __future__ import annotations

import dataclasses
import types
from operator import is_
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.bridge.traversals import FLAX_TRAVERSAL, Traversal


def same(a: Any, b: Any) -> bool:
    """True if a definition does the same with both values."""
    if a is b:
        return True
    if isinstance(a, jax.Array | np.ndarray | np.generic):
        return _same_array(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return _holds_the_same(a, b) or all(
            same(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a)
        )
    if isinstance(a, types.FunctionType):
        return _same_function(a, b)
    if isinstance(a, Traversal | FLAX_TRAVERSAL):
        return same(vars(a), vars(b))
    return _equal(a, b)


def _holds_the_same(a: Any, b: Any) -> bool:
    """True if all attributes are the very same objects: a fast test for the usual case."""
    mine, theirs = getattr(a, "__dict__", {}), getattr(b, "__dict__", {})
    same_names = bool(mine) and mine.keys() == theirs.keys()
    return same_names and all(map(is_, mine.values(), map(theirs.get, mine)))


def _equal(a: Any, b: Any) -> bool:
    if a != a and b != b:  # NaN is the same as NaN: otherwise each step would retrace.
        return True
    try:
        return bool(a == b)
    except Exception:  # a value of the user's that cannot be compared is equal to itself only
        return False


def _same_array(a: Any, b: Any) -> bool:
    if not isinstance(b, jax.Array | np.ndarray | np.generic):
        return False
    if isinstance(a, jax.core.Tracer) or isinstance(b, jax.core.Tracer):
        return False  # tracers have no values yet: only identity makes them equal
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if isinstance(a, jax.Array) and jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
        keys: tuple[Any, Any] = (a, b)
        return same(*map(jax.random.key_data, keys))
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=a.dtype.kind in "fc"))


def _same_function(a: types.FunctionType, b: types.FunctionType) -> bool:
    """True for the same code over the same values, as of a lambda that each call makes anew."""
    if a.__code__ != b.__code__ or a.__globals__ is not b.__globals__:
        return False
    if not same(a.__defaults__, b.__defaults__) or not same(a.__kwdefaults__, b.__kwdefaults__):
        return False
    mine, theirs = a.__closure__ or (), b.__closure__ or ()
    try:
        return all(
            _same_cell(x.cell_contents, y.cell_contents) for x, y in zip(mine, theirs, strict=True)
        )
    except ValueError:  # an empty cell
        return False


def _same_cell(a: Any, b: Any) -> bool:
    # A function in a closure may close over itself, so it is compared by identity.
    return a is b if isinstance(a, types.FunctionType) else same(a, b)

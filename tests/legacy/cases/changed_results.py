"""Calls that jax takes as ever and answers otherwise, as cases that run there and here."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from flaxoptim_compat.legacy.calls.other_answers import OTHER_ANSWERS
from tests.legacy.cases.old_names import Case, Old

_INTEGERS = np.asarray([[1, 2], [2, -3]], np.int32)
_X = np.asarray([[-0.5, 0.5], [2.5, 0.25]], np.float32)
_ARRAYS = {
    "a": np.asarray([[[2, 0.5], [0.25, 3]], [[5, 2], [1.5, 7]]], np.float32),
    "b": np.asarray([[1, 2], [3, 4]], np.float32),
    "c": _X,
    "k": np.float32(1.5),
    "mu": np.float32(2.0),
    "p": _INTEGERS[0],
    "x": _X,
    "z": np.asarray([1 + 2j, -0.5 - 1j, 2j, 0], np.complex64),
}
# Where the table means arrays of integers.
_OF_INTEGERS = re.compile(r"jax\.numpy\.(ceil|floor|trunc|polyval|unique)\(")
ROWS = {row.call: row for row in OTHER_ANSWERS}


def before_of(call: str) -> str:
    """What gives the old answer."""
    before = ROWS[call].before
    return f"{call}[1].ravel()" if before == "indices.ravel()" else before


def result(call: str, expression: str, old: Old) -> Any:
    """What comes of an expression that is about a call: of each array dtype, shape and numbers."""
    asarray = old("jax.numpy.asarray")
    scope = {name: asarray(array) for name, array in _ARRAYS.items()}
    if _OF_INTEGERS.match(call):
        scope["x"] = asarray(_INTEGERS)

    def function(name: re.Match[str]) -> str:
        scope[name[0].replace(".", "_")] = old(name[0])
        return name[0].replace(".", "_")

    found = eval(re.sub(r"\bjax(\.\w+)+", function, expression), scope)
    if "return_inverse" in expression and isinstance(found, tuple):
        found = found[1]
    arrays = found if isinstance(found, tuple) else (found,)
    return [[str(each.dtype), list(each.shape), np.ravel(each).tolist()] for each in arrays]


def _case(call: str) -> Case:
    return lambda old: [repr(each) for each in result(call, call, old)]


# What the old environment runs.
CASES: dict[str, Case] = {call: _case(call) for call in ROWS}

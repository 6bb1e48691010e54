"""``jax.scipy.linalg.solve``, which had an argument of its own for positive definite matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def solve(
    original: Callable[..., Any],
    a: Any,
    b: Any,
    sym_pos: bool = False,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """Solve a linear equation."""
    assume_a = "pos" if sym_pos else assume_a
    return original(a, b, lower, overwrite_a, overwrite_b, debug, check_finite, assume_a)

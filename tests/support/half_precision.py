"""Whether jax rounds numbers to bfloat16 where it says that it does."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest


def _numbers_are_rounded() -> bool:
    """Whether 0.9 is one of bfloat16 before a bfloat16 array is multiplied by it.

    Before jax 0.4.33 XLA multiplies by the number as it is, but only where it is no constant:
    operation by operation, and not in a compiled program.
    """
    return float(0.9 * jnp.asarray(2.234375, jnp.bfloat16)) == 2.0


def skip_unless_rounded(tree: Any) -> None:
    """Skip a test of bits if something in a tree is of bfloat16, where that has others."""
    halves = [each for each in jax.tree.leaves(tree) if jnp.result_type(each) == jnp.bfloat16]
    if halves and not _numbers_are_rounded():
        pytest.skip("before jax 0.4.33 no number is rounded to bfloat16 outside of jit")

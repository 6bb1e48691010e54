"""Constants and functions of ``jax.numpy`` that have no successor with the same arguments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat.legacy.stand_ins.numpy_names import NINF, NZERO, PZERO

__all__ = ["NINF", "NZERO", "PZERO", "fix", "in1d", "msort"]


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> jax.Array:
    """Tell which elements of an array are in another one, as a flat array."""
    return jnp.isin(ar1, ar2, assume_unique=assume_unique, invert=invert).ravel()


def msort(a: Any) -> jax.Array:
    """Sort an array along its first axis."""
    return jnp.sort(a, axis=0)


def fix(x: Any, out: None = None) -> jax.Array:
    """Round towards zero; integers become floating point numbers."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.fix is not supported.")
    x = jnp.asarray(x)
    # trunc has learnt to leave integers what they are.
    return jnp.trunc(
        x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(jnp.result_type(float))
    )

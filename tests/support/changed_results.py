"""Calls that jax takes as ever and answers otherwise, and what gives the answer of jax 0.4.13."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.old_names import Case, Old

_MODULES = {
    "jnp": "jax.numpy",
    "linalg": "jax.scipy.linalg",
    "special": "jax.scipy.special",
    "poisson": "jax.scipy.stats.poisson",
    "norm": "jax.scipy.stats.norm",
}
_ARRAYS = {
    "matrices": np.asarray([[[2, 0.5], [0.25, 3]], [[5, 2], [1.5, 7]]], np.float32),
    "vectors": np.asarray([[1, 2], [3, 4]], np.float32),
    "integers": np.asarray([[1, 2], [2, -3]], np.int32),
    "x": np.asarray([[-0.5, 0.5], [2.5, 0.25]], np.float32),
    "z": np.asarray([1 + 2j, -0.5 - 1j, 2j, 0], np.complex64),
}
# {the call: what to write for what it gave}
REPLACED = {
    "jnp.linalg.solve(matrices, vectors)": (
        "jnp.linalg.solve(matrices, vectors[..., None])[..., 0]"
    ),
    "linalg.solve(matrices, vectors)": "linalg.solve(matrices, vectors[..., None])[..., 0]",
    "jnp.ceil(integers)": "jnp.ceil(integers.astype(float))",
    "jnp.floor(integers)": "jnp.floor(integers.astype(float))",
    "jnp.trunc(integers)": "jnp.trunc(integers.astype(float))",
    "jnp.polyval(integers[0], integers)": "jnp.polyval(integers[0], integers.astype(float))",
    "x // 0.0": "jnp.full_like(x, jnp.nan)",
    "jnp.sign(z)": "(jnp.where(z.real == 0, jnp.sign(z.imag), jnp.sign(z.real)) + 0j)",
    "jnp.sort_complex(x)": "jnp.sort(x, 0) + 0j",
    "jnp.unique(integers, return_inverse=True)[1]": (
        "jnp.unique(integers, return_inverse=True)[1].ravel()"
    ),
    "linalg.toeplitz(x)": "linalg.toeplitz(x.ravel())",
    "special.gamma(x)": "jnp.abs(special.gamma(x))",
    "special.ndtri(x)": "special.ndtri(jnp.clip(x, 0, 1))",
    "norm.ppf(x)": "norm.ppf(jnp.clip(x, 0, 1))",
    "poisson.logpmf(1.5, 2.0)": "1.5 * jnp.log(2.0) - special.gammaln(1.5 + 1) - 2.0",
    "jnp.nonzero(3)": "jnp.nonzero(jnp.atleast_1d(3))",
    "jnp.where(3)": "jnp.where(jnp.atleast_1d(3))",
}


def result(expression: str, old: Old) -> Any:
    """What comes of an expression: of each array its dtype, its shape and its numbers."""
    asarray = old("jax.numpy.asarray")
    scope = {name: old(module) for name, module in _MODULES.items()}
    scope |= {name: asarray(array) for name, array in _ARRAYS.items()}
    found = eval(expression, scope)
    arrays = found if isinstance(found, tuple) else (found,)
    return [[str(each.dtype), list(each.shape), np.ravel(each).tolist()] for each in arrays]


def _case(expression: str) -> Case:
    return lambda old: [repr(each) for each in result(expression, old)]


# What the old environment runs.
CASES: dict[str, Case] = {call: _case(call) for call in REPLACED}

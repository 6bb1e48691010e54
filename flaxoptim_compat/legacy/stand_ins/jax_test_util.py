"""``check_eq`` and ``check_close`` of ``jax.test_util``: assertions about trees of arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# By the name of a dtype; values of any other dtype must be equal.
TOLERANCES = {
    "float8_e4m3b11fnuz": 1e-1,
    "float8_e4m3fn": 1e-1,
    "float8_e5m2": 1e-1,
    "bfloat16": 1e-2,
    "float16": 1e-3,
    "float32": 1e-6,
    "float64": 1e-15,
    "complex64": 1e-6,
    "complex128": 1e-15,
}
ON_TPU = {"float32": 1e-3, "complex64": 1e-3}


def tolerance(dtype: Any, tol: Any = None) -> float:
    """Return the tolerance for values of a dtype; ``tol`` may be a number, or a dict by dtype."""
    if tol is not None and not isinstance(tol, dict):
        return float(tol)
    canonical = jax.dtypes.canonicalize_dtype(dtype)
    by_dtype = {np.dtype(key): value for key, value in (tol or {}).items()}
    on_tpu = ON_TPU if jax.default_backend() == "tpu" else {}
    name = canonical.name
    return float(by_dtype.get(canonical, on_tpu.get(name, TOLERANCES.get(name, 0.0))))


def check_eq(xs: Any, ys: Any, err_msg: str = "") -> None:
    """Assert that the arrays of two trees agree to seven digits."""
    jax.tree.map(lambda x, y: assert_allclose(x, y, err_msg=err_msg), xs, ys)


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Assert that the arrays of two trees are as close as their dtypes and sizes allow."""

    def check(x: Any, y: Any) -> None:
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape
        assert_allclose(
            x,
            y,
            atol=max(tolerance(x.dtype, atol), tolerance(y.dtype, atol)) * x.size,
            rtol=max(tolerance(x.dtype, rtol), tolerance(y.dtype, rtol)) * y.size,
            err_msg=err_msg,
        )

    jax.tree.map(check, xs, ys)


def assert_allclose(
    x: Any, y: Any, atol: float = 0.0, rtol: float = 0.0, err_msg: str = ""
) -> None:
    """Assert that two arrays are close."""
    x, y = _comparable(np.asarray(x)), _comparable(np.asarray(y))
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(x, y, rtol=rtol or 1e-7, atol=atol, err_msg=err_msg)


def _comparable(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # numpy cannot compare the narrow floating-point dtypes.
    narrow = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.kind != "f"
    return x.astype(np.float32) if narrow else x

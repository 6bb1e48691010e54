"""``jax.test_util.JaxTestCase``: a test case with assertions about arrays."""

from __future__ import annotations

import importlib
import re
import textwrap
import unittest
import zlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from flaxoptim_compat.legacy.stand_ins.jax_test_util import assert_allclose, tolerance

try:
    # Subclasses are decorated with absl's parameters, which need this base class.
    Base: Any = importlib.import_module("absl.testing.parameterized").TestCase
except ImportError:
    Base = unittest.TestCase


class JaxTestCase(Base):  # type: ignore[misc]
    """A test case with assertions about arrays."""

    def setUp(self) -> None:
        """Make a generator of random numbers that depends on the name of the test only."""
        super().setUp()
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))

    def rng(self) -> np.random.RandomState:
        """Return the generator of random numbers of this test."""
        return self._rng

    def assertArraysEqual(  # noqa: N802
        self, x: Any, y: Any, *, check_dtypes: bool = True, err_msg: str = ""
    ) -> None:
        """Assert that two arrays are equal."""
        if check_dtypes:
            self.assertDtypesMatch(x, y)
        np.testing.assert_array_equal(x, y, err_msg=err_msg)

    def assertArraysAllClose(  # noqa: N802
        self,
        x: Any,
        y: Any,
        *,
        check_dtypes: bool = True,
        atol: Any = None,
        rtol: Any = None,
        err_msg: str = "",
    ) -> None:
        """Assert that two arrays are as close as their dtypes allow.

        Args:
          x: an array.
          y: the other array.
          check_dtypes: whether their dtypes must be the same.
          atol: the absolute tolerance.
          rtol: the relative tolerance.
          err_msg: the message of the error.
        """
        assert x.shape == y.shape, (x.shape, y.shape)
        atol = max(tolerance(each.dtype, atol) for each in (x, y))
        rtol = max(tolerance(each.dtype, rtol) for each in (x, y))
        assert_allclose(x, y, atol=atol, rtol=rtol, err_msg=err_msg)
        if check_dtypes:
            self.assertDtypesMatch(x, y)

    def assertDtypesMatch(  # noqa: N802
        self, x: Any, y: Any, *, canonicalize_dtypes: bool = True
    ) -> None:
        """Assert that two arrays have the same dtype."""
        dtypes = [_dtype(x), _dtype(y)]
        if canonicalize_dtypes:
            dtypes = [jax.dtypes.canonicalize_dtype(dtype) for dtype in dtypes]
        assert dtypes[0] == dtypes[1], tuple(dtypes)

    def assertAllClose(self, x: Any, y: Any, **how: Any) -> None:  # noqa: N802
        """Assert that the arrays in dicts and sequences are close."""
        if isinstance(x, dict):
            assert isinstance(y, dict), type(y)
            assert set(x) == set(y), (set(x), set(y))
            for key in x:
                self.assertAllClose(x[key], y[key], **how)
        elif isinstance(x, Sequence) and not isinstance(x, str):
            assert isinstance(y, Sequence), type(y)
            assert len(x) == len(y), (len(x), len(y))
            for item_x, item_y in zip(x, y, strict=True):
                self.assertAllClose(item_x, item_y, **how)
        else:
            canonicalize = how.pop("canonicalize_dtypes", True)
            if how.pop("check_dtypes", True):
                self.assertDtypesMatch(x, y, canonicalize_dtypes=canonicalize)
            self.assertArraysAllClose(np.asarray(x), np.asarray(y), check_dtypes=False, **how)

    def assertMultiLineStrippedEqual(self, expected: str, what: str) -> None:  # noqa: N802
        """Assert that two texts are equal but for the blanks around their lines."""
        texts = [
            re.sub(r"\s*\n\s*", "\n", textwrap.dedent(text).strip()) for text in (expected, what)
        ]
        assert texts[0] == texts[1], what


def _dtype(x: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    return dtype

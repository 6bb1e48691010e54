"""The assertions of jax's own test case: what holds, and what does not."""

from __future__ import annotations

import unittest

import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_test_case
from tests.support.vectors import X


class Assertions(jax_test_case.JaxTestCase):  # type: ignore[misc]
    def test_what_holds(self) -> None:
        self.assertArraysEqual(X, np.asarray(X))
        self.assertArraysAllClose(X, X * (1 + 1e-7))
        self.assertAllClose({"a": [1.0, X]}, {"a": (1.0, X)})
        self.assertAllClose(X, np.asarray(X, np.float64))
        self.assertAllClose(X, np.asarray(X, np.float64), check_dtypes=False, rtol=1e-3)
        self.assertMultiLineStrippedEqual("  a\n  b ", "a\nb")
        self.rng().rand(3)

    def test_what_does_not(self) -> None:
        for assertion in (
            lambda: self.assertArraysEqual(X, X + 1),
            lambda: self.assertArraysEqual(X, X.astype(jnp.float16)),
            lambda: self.assertArraysAllClose(X, X * 1.001),
            lambda: self.assertArraysAllClose(X, X[:2]),
            lambda: self.assertAllClose({"a": X}, {"b": X}),
            lambda: self.assertAllClose([X], [X, X]),
            lambda: self.assertDtypesMatch(X, X.astype(int)),
            lambda: self.assertMultiLineStrippedEqual("a", "b"),
        ):
            with pytest.raises(AssertionError):
                assertion()


def test_the_test_case() -> None:
    suite = unittest.TestLoader().loadTestsFromTestCase(Assertions)
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun == 2 and result.wasSuccessful(), result.failures + result.errors

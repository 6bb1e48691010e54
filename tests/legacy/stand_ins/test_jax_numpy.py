"""Functions that ``jax.numpy`` had."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_functions
from tests.support.vectors import X


def test_msort_and_out() -> None:
    assert jax_functions.msort(jnp.asarray([[3, 1], [2, 5]])).tolist() == [[2, 1], [3, 5]]
    with pytest.raises(NotImplementedError, match="out"):
        jax_functions.fix(X, out=X)

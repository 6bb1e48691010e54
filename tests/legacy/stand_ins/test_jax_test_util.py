"""The assertions that jax had for tests."""

from __future__ import annotations

import pytest

from flaxoptim_compat.legacy.stand_ins import jax_test_util
from tests.support.vectors import X


def test_check_eq_wants_the_same_structure() -> None:
    jax_test_util.check_eq({"a": X}, {"a": X})
    with pytest.raises(ValueError, match="'a'"):
        jax_test_util.check_eq({"a": X}, {"b": X})

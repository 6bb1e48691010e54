"""``jax.mask``, of which there is only what an import needs."""

from __future__ import annotations

import pytest

from flaxoptim_compat.legacy.stand_ins import jax_masking


def test_rules_can_be_given() -> None:
    jax_masking.defvectorized("primitive")
    jax_masking.defnaryop("primitive")
    jax_masking.masking_rules["primitive"] = None
    assert jax_masking.shape_as_value((2, 3)) == (2, 3)
    assert jax_masking.padded_shape_as_value((2, 3)) == (2, 3)


def test_a_masked_function_says_that_there_are_none() -> None:
    masked = jax_masking.mask(test_rules_can_be_given, in_shapes=["n"], out_shape="")
    with pytest.raises(NotImplementedError, match=r"test_rules_can_be_given is .*Pad the arrays"):
        masked([1.0], {"n": 1})

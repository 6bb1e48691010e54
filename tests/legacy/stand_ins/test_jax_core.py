"""Names that ``jax.core`` had: named axes and abstract values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_core
from tests.support.vectors import X


def test_named_axes() -> None:
    sizes = jax.vmap(lambda x: x + jax_core.axis_frame("i").size, axis_name="i")(X)
    assert sizes.tolist() == (X + 4).tolist()
    with pytest.raises(NameError):
        jax_core.axis_frame("i")
    aval = jax.typeof(jnp.asarray(1.0))
    assert jax_core.raise_to_shaped(aval) is aval
    assert not jax_core.raise_to_shaped(aval, weak_type=False).weak_type

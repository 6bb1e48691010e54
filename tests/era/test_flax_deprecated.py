"""``flax.deprecated``, which had flax.nn for a while."""

from __future__ import annotations

from flaxoptim_compat import nn
from flaxoptim_compat.era import flax_deprecated


def test_flax_deprecated_has_it_too():
    assert flax_deprecated.nn is nn

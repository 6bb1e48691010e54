"""The modules of flax.nn: each of their names is served, or says what to do."""

from __future__ import annotations

import pytest

from flaxoptim_compat.legacy.stand_ins import flax_nn_parts
from tests.support.flax_nn_names import IN_PARTS


@pytest.mark.parametrize("name", IN_PARTS)
def test_every_name_of_the_modules_is_served_or_says_what_to_do(name):
    assert hasattr(flax_nn_parts, name) != (name in flax_nn_parts.REMOVED)

"""What cannot do without the parameters says so, with its name."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import optax
import pytest

from flaxoptim_compat import transforms

NEED_THEM = {
    "scale_by_lamb_trust_ratio": transforms.scale_by_lamb_trust_ratio(),
    "scale_by_lars_rate": transforms.scale_by_lars_rate(0.1),
    "scale_by_rate_and_parameter_rms": transforms.scale_by_rate_and_parameter_rms(0.1),
    "weight_norm": transforms.weight_norm(optax.identity()),
}


@pytest.mark.parametrize("name", NEED_THEM)
def test_the_message_names_the_transformation(name: str) -> None:
    tx: Any = NEED_THEM[name]
    with pytest.raises(ValueError, match=rf"^{name} needs the parameters: give them to update"):
        tx.update(jnp.ones(2), tx.init(jnp.ones(2)))

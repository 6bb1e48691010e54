"""Weight decay that costs nothing where there is none."""

from __future__ import annotations

from typing import Any

import optax


def weight_decay(rate: Any) -> optax.GradientTransformation:
    """Add the rate times the parameter to the update.

    Optax before 0.2.8 multiplies by a rate of 0.0 as by any other.

    Args:
      rate: a number or an array.
    """
    if isinstance(rate, int | float) and rate == 0:
        return optax.identity()
    return optax.add_decayed_weights(rate)

"""All known mistakes, in one file for each subject."""

from __future__ import annotations

from flaxoptim_compat.parity.causes.mistakes import (
    defaults,
    eps,
    moments,
    momentum,
    rate,
    trust_ratio,
    weight_decay,
)

# Several mistakes are made in this order. Values come first: the place of eps makes no sense before
# its value is known.
KNOWN = (
    *defaults.MISTAKES,
    *eps.MISTAKES,
    *weight_decay.MISTAKES,
    *momentum.MISTAKES,
    *moments.MISTAKES,
    *trust_ratio.MISTAKES,
    *rate.MISTAKES,
)

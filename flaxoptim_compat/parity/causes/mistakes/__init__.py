"""All known mistakes, one file for what they are about."""

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

# When several are made at once, they are made in this order. Values come first, because where eps
# stands makes no sense before it is known what it is.
KNOWN = (
    *defaults.MISTAKES,
    *eps.MISTAKES,
    *weight_decay.MISTAKES,
    *momentum.MISTAKES,
    *moments.MISTAKES,
    *trust_ratio.MISTAKES,
    *rate.MISTAKES,
)

"""All known mistakes, one file for what they are about.

When several are made at once, they are made in the order of this list. Values come first, because
where eps stands makes no sense before it is known what it is.
"""

from __future__ import annotations

from flaxoptim_compat.parity.causes.mistake import KNOWN

from flaxoptim_compat.parity.causes.mistakes import (  # isort: skip
    defaults,
    eps,
    weight_decay,
    momentum,
    moments,
    trust_ratio,
    rate,
)

__all__ = [
    "KNOWN",
    "defaults",
    "eps",
    "moments",
    "momentum",
    "rate",
    "trust_ratio",
    "weight_decay",
]

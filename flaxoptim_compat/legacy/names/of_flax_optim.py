"""``flax.optim`` and its modules."""

from __future__ import annotations

from flaxoptim_compat.catalogue import MODULES
from flaxoptim_compat.legacy.entry import LegacyName

_GONE_SINCE = "flax 0.6.0"

ENTRIES: tuple[LegacyName, ...] = (
    LegacyName("flax.optim", "flaxoptim_compat.optim", _GONE_SINCE),
    *(
        LegacyName(f"flax.optim.{name}", f"flaxoptim_compat.optim.{name}", _GONE_SINCE)
        for name in MODULES
    ),
)

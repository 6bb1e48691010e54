"""The classes of flax.optim's optimizers whose formula is a chain of stages."""

from __future__ import annotations

from typing import Any

from flaxoptim_compat import optim
from flaxoptim_compat.catalogue import OPTIMIZERS
from flaxoptim_compat.optim.formula import Chain

_CLASSES: tuple[Any, ...] = tuple(getattr(optim, row.name) for row in OPTIMIZERS)
KINDS = tuple(kind for kind in _CLASSES if isinstance(kind.formula, Chain))

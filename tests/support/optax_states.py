"""What is in a state of optax."""

from __future__ import annotations

import itertools
from typing import Any


def named_tuples(state: Any) -> list[type]:
    """The types of all named tuples in an optax state."""
    if not isinstance(state, tuple):
        return []
    below = itertools.chain.from_iterable(map(named_tuples, state))
    return [type(state), *below] if hasattr(state, "_fields") else [*below]
